"""Load and endurance of `eigenbandits serve`, from a client on the same machine."""
