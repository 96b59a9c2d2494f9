"""AWD-LSTM against a plain loop over its equations, dropped or not; what its penalty does to training."""

from itertools import pairwise

import pytest
import torch

from ps_models.dataset import to_rows
from ps_models.devices import ONE_PROCESS
from ps_models.hyperparameters import TrainingConfig
from ps_models.models.awd_lstm import AWDLSTM, AWDLSTMConfig
from ps_models.models.stream import dropout_mask
from ps_models.training.update import Training

V, ROWS, TIME = 9, 2, 7
CONFIG = AWDLSTMConfig(vocab_size=V, embedding_size=4, hidden_size=6, init=0.7)


def by_equations(model, tokens):
    """Nats, and the penalty; masks are drawn in the model's order."""
    config, training = model.config, model.training

    def draw(rate, *shape):
        mask = dropout_mask(rate, shape, model.embedding.weight) if training else None
        return torch.ones(shape).double() if mask is None else mask

    types = draw(config.type_dropout, V, 1)
    read = torch.cat([torch.ones(ROWS, 1, dtype=torch.int64), tokens[:, :-1]], dim=1)
    xs = [types[words] * model.embedding.weight[words] for words in read.T]
    for number, layer in enumerate(model.layers):
        rate = config.layer_dropout if number else config.input_dropout
        mask = draw(rate, 1, ROWS, xs[0].shape[1])[0]
        recurrent = layer.weight_hh * draw(config.weight_dropout, *layer.weight_hh.shape)
        h = c = torch.zeros(ROWS, layer.weight_hh.shape[1]).double()
        hs = []
        for x in xs:
            i, f, g, o = ((x * mask) @ layer.weight_ih.T + h @ recurrent.T + layer.bias).chunk(4, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            hs.append(h)
        xs = hs
    mask = draw(config.output_dropout, 1, ROWS, xs[0].shape[1])[0]
    nats = []
    for t, h in enumerate(xs):
        logits = (h * mask) @ model.embedding.weight.T + model.softmax.bias
        nats.append(-logits.log_softmax(1).gather(1, tokens[:, t : t + 1]))
    activation = torch.stack([(h * mask) ** 2 for h in xs]).mean()
    slowness = torch.stack([(b - a) ** 2 for a, b in pairwise(xs)]).mean()
    return torch.cat(nats, dim=1), 2 * activation + slowness


@pytest.mark.parametrize("training", [False, True])
def test_it_is_the_equations_and_so_are_its_gradients(training):
    torch.manual_seed(3)
    model = AWDLSTM(CONFIG).double().train(training)
    torch.nn.init.normal_(model.get_parameter("softmax.bias"))
    tokens = torch.randint(V, (ROWS, TIME))
    found = []
    for run in (
        lambda: model.loss_and_penalty(tokens, model.initial_state(ROWS))[:2],
        lambda: by_equations(model, tokens),
    ):
        torch.manual_seed(4)
        nats, penalty = run()
        grads = torch.autograd.grad(nats.mean() + penalty, list(model.parameters()))
        found.append([nats, penalty, *grads])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


@pytest.mark.parametrize("random_strides", [False, True])
@pytest.mark.parametrize("loss", ["token", "row"])
def test_an_update_minimises_the_mean_of_the_nats_and_the_penalty(loss, random_strides):
    """`row` is the sum over time of a mean over rows: the penalty per token counts as often.

    The step of a chunk of a random length is in proportion to it, and the learning rate is as before.
    """
    torch.manual_seed(7)
    model = AWDLSTM(CONFIG).eval()
    config = TrainingConfig(
        batch_size=ROWS,
        stride=TIME,
        bptt=1,
        loss=loss,
        clip=0,
        learning_rate=0.5,
        random_strides=random_strides,
    )
    run = Training(
        model,
        to_rows(torch.randint(V, (ROWS * TIME * 9,)), ROWS),
        config,
        vocab_size=V,
        device=torch.device("cpu"),
        world=ONE_PROCESS,
    )
    chunk, targets = next(one for one in run.chunks() if (one[0].scored == TIME) is not random_strides)
    nats, penalty, _ = model.loss_and_penalty(chunk.tokens, model.initial_state(ROWS))
    expected = torch.autograd.grad(
        (nats.mean() + penalty) * (1 if loss == "token" else chunk.scored), list(model.parameters())
    )
    before = [parameter.detach().clone() for parameter in model.parameters()]
    run.update(chunk, targets)
    for parameter, old, grad in zip(model.parameters(), before, expected, strict=True):
        torch.testing.assert_close(parameter.grad, grad)
        torch.testing.assert_close(parameter.detach(), old - 0.5 * chunk.scored / TIME * grad)
    assert run.learning_rate == 0.5
