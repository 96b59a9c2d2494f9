"""A GPT of today: rotary positions, RMSNorm, SwiGLU, PyTorch's attention, tied words; a sliding window.

    ps-models train gpt.py:GPT DATA --preset small --out RUN

Each word attends to itself and the `window - 1` words before it, in each layer, also over the borders of
calls: the state keeps keys and values. B = batch, T = time, P = window - 1, S = P + T, N = heads, D = head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ps_models as pm


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    vocab_size: int
    eos: int = 1
    width: int = 256
    layers: int = 4
    heads: int = 4
    window: int = 128
    dropout: float = 0.1
    sampled: int = 0  # words that training scores besides the right ones; 0: all


def rotate(x_BNSD: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021). Only distances count, so each call may begin at 0."""
    S, D = x_BNSD.shape[-2:]
    rates = 10_000 ** (-torch.arange(0, D, 2, device=x_BNSD.device) / D)
    angles = torch.arange(S, device=x_BNSD.device)[:, None] * rates
    left, right = x_BNSD.chunk(2, dim=-1)
    cos, sin = angles.cos().to(left), angles.sin().to(left)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)


class Block(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.before_attention, self.before_mlp = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.keys_values = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, past: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs, (B, T, width), and keys and values of all S positions."""
        heads = len(x), -1, self.config.heads, self.config.width // self.config.heads
        normed = self.before_attention(x)
        kept = torch.cat([past, self.keys_values(normed)], dim=1)
        keys, values = (part.view(heads).transpose(1, 2) for part in kept.chunk(2, dim=-1))
        queries = torch.cat([past[..., : x.shape[-1]], self.query(normed)], dim=1).view(heads).transpose(1, 2)
        queries = rotate(queries)[:, :, past.shape[1] :]
        mixed = F.scaled_dot_product_attention(queries, rotate(keys), values, attn_mask=seen[:, None])
        x = x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
        gate, up = self.up(self.before_mlp(x)).chunk(2, dim=-1)
        return x + self.drop(self.down(F.silu(gate) * up)), kept


class GPT(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm, self.drop = nn.RMSNorm(config.width), nn.Dropout(config.dropout)
        self.softmax = pm.Softmax(self.words.weight, bias=False, sampled=config.sampled)  # tied
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                deep = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / (2 * config.layers) ** 0.5 if deep else 0.02)

    def initial_state(self, batch_size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Keys and values of P positions, (B, layers, P, 2 * width); how many are words; the word to read."""
        config, like = self.config, self.words.weight
        past = like.new_zeros(batch_size, config.layers, config.window - 1, 2 * config.width)
        count = torch.zeros(batch_size, dtype=torch.int64, device=like.device)
        return past, count, torch.full_like(count, config.eos)

    def outputs(self, tokens: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """What predicts each token, (B, T, width), and the state after the last one."""
        past, count, word = state
        T, P = tokens.shape[1], past.shape[2]
        x = self.drop(self.words(torch.cat([word[:, None], tokens[:, :-1]], dim=1)))
        at, to = torch.arange(P, P + T, device=x.device)[:, None], torch.arange(P + T, device=x.device)
        seen = (to <= at) & (to >= at - P) & (to >= P - count[:, None, None])  # (B, T, S)
        kept = []
        for number, block in enumerate(self.blocks):
            x, whole = block(x, past[:, number].to(x), seen)
            kept.append(whole[:, T:])
        return self.norm(x), (torch.stack(kept, dim=1).float(), (count + T).clamp(max=P), tokens[:, -1])

    def forward(self, tokens: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        x, state = self.outputs(tokens, state)
        return self.softmax(x.flatten(0, 1), tokens.flatten()).view_as(tokens), state

    def next_log_probs(self, state: tuple[Tensor, ...]) -> Tensor:
        x, _ = self.outputs(state[2][:, None], state)
        return self.softmax.log_probs(x[:, 0])

    loss = pm.loss_of_scores
