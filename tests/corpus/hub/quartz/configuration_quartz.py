"""Configuration of Quartz, which needs no library."""


class QuartzConfig:
    model_type = "quartz"

    def __init__(self, hidden_size, intermediate_size, num_hidden_layers, vocab_size, group_size, **others):
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.num_hidden_layers = num_hidden_layers
        self.vocab_size = vocab_size
        self.group_size = group_size
        self.norm_eps = others.get("norm_eps", 1e-6)
        self.residual_scale = others.get("residual_scale", 0.5)

    def to_dict(self):
        return dict(vars(self))
