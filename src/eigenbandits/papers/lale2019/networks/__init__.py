"""Networks of the paper's construction in torch: K segments of d numbers, and one vector θ* that reads all of them."""
