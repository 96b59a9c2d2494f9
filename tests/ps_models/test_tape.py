"""The tape goes wrong where a CUDA graph would, so that what goes right on it is worth something."""

import pytest
import torch

from tests.ps_models.tape import Tape


def test_recording_computes_nothing_and_a_replay_does_it_in_the_same_place():
    read, written = torch.tensor([1.0, 2.0]), torch.zeros(2)
    replay = Tape().record(lambda: written.copy_(read * 2).add_(1))
    assert written.tolist() == [0.0, 0.0]
    replay()
    assert written.tolist() == [3.0, 5.0]
    read.copy_(torch.tensor([5.0, 6.0]))
    replay()
    assert written.tolist() == [11.0, 13.0]


def test_numbers_of_python_are_frozen():
    rate, weight = [0.5], torch.zeros(1)
    replay = Tape().record(lambda: weight.add_(rate[0]))
    rate[0] = 100.0
    replay()
    assert weight.item() == 0.5


def test_what_was_made_while_recording_is_nothing_after_a_replay():
    weight = torch.ones(3, requires_grad=True)
    made: list[torch.Tensor] = []

    def work():
        made[:] = [weight.detach() * 2]
        made.extend(torch.autograd.grad((weight * made[0]).sum(), [weight]))

    replay = Tape().record(work)
    for _ in range(2):
        assert torch.cat(made).isnan().all()
        replay()


def test_gradients_go_through_views_and_operators_of_many_tensors():
    weights = [torch.randn(4, 3, requires_grad=True) for _ in range(3)]
    kept = torch.zeros(3)

    def work():
        parts = [weight[1:].t().chunk(3, dim=0)[1].tanh().sum() for weight in weights]
        gradients = torch.autograd.grad(torch.stack(parts).logsumexp(0), weights)
        kept.copy_(torch.stack(torch._foreach_norm(gradients)))

    replay = Tape().record(work)
    for _ in range(2):
        with torch.no_grad():
            torch._foreach_add_(weights, 1.0)
        replay()
        found = kept.clone()
        work()
        assert torch.equal(found, kept)


@pytest.mark.parametrize(
    "ask", [lambda t: t.sum().item(), lambda t: bool(t.any()), lambda t: t.nonzero(), lambda t: t[t > 0]]
)
def test_asking_for_a_number_is_an_error_that_changes_nothing(ask):
    random_numbers, tensor = torch.get_rng_state(), torch.ones(3)
    with pytest.raises(RuntimeError, match="waits for the device"):
        Tape().record(lambda: ask(tensor.mul_(torch.rand(3))))
    assert tensor.tolist() == [1.0, 1.0, 1.0]
    assert torch.equal(random_numbers, torch.get_rng_state())


def test_random_numbers_go_on_from_replay_to_replay():
    drawn = torch.zeros(3)
    replay = Tape().record(lambda: drawn.copy_(torch.rand(3)))
    torch.manual_seed(1)
    wanted = [torch.rand(3) for _ in range(4)]
    torch.manual_seed(1)
    for number in range(4):
        replay()
        assert torch.equal(drawn, wanted[number])
