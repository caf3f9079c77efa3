"""A fleet in a storm: real processes that are killed, stopped and restarted at random, and clocks that are moved, from a seed."""
