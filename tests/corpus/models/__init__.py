"""Small models in plain torch, one for each thing the graph must get right. Every model is made from named sizes."""
