"""Configuration of Pebble, which needs no library."""


class PebbleConfig:
    model_type = "pebble"

    def __init__(self, hidden_size, intermediate_size, num_hidden_layers, vocab_size, **others):
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.num_hidden_layers = num_hidden_layers
        self.vocab_size = vocab_size

    def to_dict(self):
        return dict(vars(self))
