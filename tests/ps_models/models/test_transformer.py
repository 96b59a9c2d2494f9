"""The Transformer: what it may and may not depend on, and that it learns."""

from dataclasses import replace

import pytest
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


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_context_is_one_window_per_layer(layers: int):
    model = made(replace(CONFIG, layers=layers))
    tokens = torch.randint(V, (1, 30))
    reach = 1 + layers * (CONFIG.window - 1)  # words before the one that is predicted
    last = []
    for back in (None, reach, reach + 1):
        other = tokens.clone()
        if back is not None:
            other[0, -1 - back] = (other[0, -1 - back] + 1) % V
        with torch.no_grad():
            last.append(model(other, model.initial_state(1))[0][0, -1].item())
    as_it_is, changed_within, changed_before = last
    assert abs(changed_within - as_it_is) > 1e-12
    assert changed_before == as_it_is
