"""minLSTM (Feng et al. 2024, https://arxiv.org/abs/2410.01201): a layer is a cumulative sum over time.

Its gates see only the input, so that training needs no loop.

    ps-models train min_lstm.py:MinLSTM DATA --preset small --out RUN

B = batch, T = time, H = width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ps_models as pm


@dataclass(frozen=True, kw_only=True)
class MinLSTMConfig:
    vocab_size: int
    eos: int = 1
    width: int = 512
    layers: int = 2
    dropout: float = 0.3
    sampled: int = 0  # words that training scores besides the right ones; 0: all


class Layer(nn.Module):
    """h_t = f_t h_(t-1) + i_t g(x_t), with f and i normalised to a sum of 1, in logarithms."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.gates = nn.RMSNorm(width), nn.Linear(width, 3 * width)
        self.out, self.drop = nn.Linear(width, width, bias=False), nn.Dropout(dropout)

    def forward(self, x_BTH: Tensor, log_BH: Tensor) -> tuple[Tensor, Tensor]:
        forget, enter, value = self.gates(self.norm(x_BTH)).float().chunk(3, dim=-1)
        balance = F.softplus(-forget) - F.softplus(-enter)
        log_f, log_i = -F.softplus(balance), -F.softplus(-balance)
        log_g = torch.where(value >= 0, (F.relu(value) + 0.5).log(), -F.softplus(-value))
        decay_BTH = log_f.cumsum(dim=1)
        entered_BTH = torch.logaddexp(log_BH[:, None], torch.logcumsumexp(log_i + log_g - decay_BTH, dim=1))
        log_BTH = decay_BTH + entered_BTH
        return x_BTH + self.drop(self.out(log_BTH.exp().to(x_BTH))), log_BTH[:, -1]


class MinLSTM(nn.Module):
    def __init__(self, config: MinLSTMConfig) -> None:
        super().__init__()
        self.config = config
        self.words, self.norm = nn.Embedding(config.vocab_size, config.width), nn.RMSNorm(config.width)
        self.layers = nn.ModuleList(Layer(config.width, config.dropout) for _ in range(config.layers))
        self.drop = nn.Dropout(config.dropout)
        self.softmax = pm.Softmax(self.words.weight, bias=False, sampled=config.sampled)  # tied
        nn.init.normal_(self.words.weight, std=0.02)

    def initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        """The logarithm of each layer's h, (B, layers, H), and the word to read, (B,)."""
        config, like = self.config, self.words.weight
        log_h = like.new_zeros(batch_size, config.layers, config.width)
        return log_h, torch.full((batch_size,), config.eos, device=like.device)

    def outputs(self, tokens: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        log_h, word = state
        x = self.drop(self.words(torch.cat([word[:, None], tokens[:, :-1]], dim=1)))
        ends = []
        for number, layer in enumerate(self.layers):
            x, end = layer(x, log_h[:, number])
            ends.append(end)
        return self.drop(self.norm(x)), (torch.stack(ends, dim=1), tokens[:, -1])

    def forward(self, tokens: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        x, state = self.outputs(tokens, state)
        return self.softmax(x.flatten(0, 1), tokens.flatten()).view_as(tokens), state

    def next_log_probs(self, state: tuple[Tensor, Tensor]) -> Tensor:
        x, _ = self.outputs(state[1][:, None], state)
        return self.softmax.log_probs(x[:, 0])

    loss = pm.loss_of_scores
