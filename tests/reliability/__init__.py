"""The proof of *never twice, never lost*: experiments that run by the thousand, each of which can be repeated alone by its seed."""
