"""What happens to each declared resource: nothing, adopt, create, update, move, restore, replace, or blocked. Pure."""
