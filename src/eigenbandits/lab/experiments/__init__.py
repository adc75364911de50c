"""What is run, stored and resumed: experiments, their cells, the engines that run them, and their results."""
