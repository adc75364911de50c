"""Time, memory and regret of eigenbandits beside the libraries that people use today."""
