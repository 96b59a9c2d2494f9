"""The Transformer: what it may and may not depend on, and that it learns."""

import torch

from ps_models.models.transformer import BLOCK, Transformer, TransformerConfig
from tests.ps_models.tiny import with_norms

V = 7
CONFIG = TransformerConfig(
    vocab_size=V, hidden_size=12, layers=3, heads=2, inner_size=10, window=4, init=0.5, softmax_bias=True
)


def made(config: TransformerConfig = CONFIG) -> Transformer:
    torch.manual_seed(5)
    return with_norms(config).double().eval()


def test_blocks_of_attention_do_not_matter():
    model = made()
    tokens = torch.randint(V, (1, 2 * BLOCK + 37))
    whole, _ = model(tokens, model.initial_state(1))
    state, parts = model.initial_state(1), []
    for chunk in torch.split(tokens, 50, dim=1):
        scores, state = model(chunk, state)
        parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-10)
