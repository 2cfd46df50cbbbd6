import pytest
import torch

from firecv.errors import FirecvError, RegimeError
from firecv.fire.cautious import STRENGTH_APART, cautious
from firecv.fire.fragment_weights import fragment_weights
from firecv.fire.validation import as_validation
from firecv.fire.weigh.settings import LABEL_FREE
from firecv.models import Task
from firecv.models.mlp import mlp
from firecv.seeding import derive_torch
from firecv.training import Training, train

SETTINGS = Training(n_epochs=20, batch_size=64, rate=0.01)


def blobs(n, centre, name, flip=False):
    rng = derive_torch(0, name)
    x = torch.randn(n, 4, generator=rng) + centre
    y = (x[:, 0] > x[:, 1]).long()
    return x, 1 - y if flip else y


@pytest.fixture(scope="module")
def trained():
    fragments = {"near": blobs(300, 0.0, "near"), "far": blobs(300, 3.0, "far", flip=True)}
    task = Task(mlp((4,), (16,), 2, derive_torch(0, "weights")))
    x, y = (torch.cat(parts) for parts in zip(*fragments.values(), strict=True))
    train(task, (x, y), SETTINGS, derive_torch(0, "order"))
    return task, fragments


@pytest.mark.parametrize("rule", LABEL_FREE)
def test_the_fragment_like_v_counts_more(trained, rule):
    task, fragments = trained
    before = task.weights()
    found = fragment_weights(
        task, fragments, as_validation(blobs(150, 0.0, "v")[0]), rule=rule, settings=SETTINGS
    )
    assert found.test.rejects
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.weights["near"] > found.weights["far"]
    after = task.weights()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert not task.model.training


@pytest.mark.parametrize("rule", LABEL_FREE)
def test_without_shift_fragments_count_by_size(trained, rule):
    task, _ = trained
    fragments = {"a": blobs(300, 0.0, "a"), "b": blobs(100, 0.0, "b")}
    v = as_validation(blobs(150, 0.0, "v"))
    found = fragment_weights(task, fragments, v, rule=rule, settings=SETTINGS)
    assert not found.test.rejects
    # Information is not switched off by a level but loses strength by doubt.
    slack = 0.05 if rule == "information" else 0.0
    assert found.weights["a"] == pytest.approx(0.75, abs=slack, rel=0)
    assert (found.weights["a"] != 0.75) == (rule == "information")
    assert sum(found.weights.values()) == pytest.approx(1)


def test_fragments_that_differ_in_classes_are_corrected_for_them(trained, monkeypatch):
    task, alike = trained
    x, y = blobs(400, 0.0, "a")
    apart = {f"class {c}": (x[y == c][:100], y[y == c][:100]) for c in (0, 1)}
    v, compared = as_validation(blobs(150, 0.0, "v")[0]), []

    def recorded(task, fragment_weights, x, sizes, test, **options):
        compared.append((fragment_weights, options))
        return cautious(task, fragment_weights, x, sizes, test, **options)

    monkeypatch.setattr("firecv.fire.weigh.decide.cautious", recorded)
    found = fragment_weights(task, apart, v, settings=SETTINGS)
    assert found.weights == {"class 0": 0.5, "class 1": 0.5}  # this mixture explains V
    fragment_weights(task, alike, v, settings=SETTINGS)
    monkeypatch.setattr("firecv.fire.weigh.decide.pooled_if_apart", lambda shares, sizes: None)
    fragment_weights(task, apart, v, settings=SETTINGS)
    fragment_weights(task, alike, v, settings=SETTINGS)
    corrected, as_they_are, uncorrected, again = (models for models, _ in compared)
    for k in range(2):
        assert all(torch.equal(as_they_are[k][name], value) for name, value in again[k].items())
        own, plain = (
            task.scores(v.x, models[k]).softmax(1)[:, k].mean()
            for models in (corrected, uncorrected)
        )
        assert own < plain  # its own class is no longer preferred as much
    strengths = [options.get("strength") for _, options in compared]
    assert strengths == [STRENGTH_APART, None, None, None]


def test_labels_of_v_are_not_used(trained):
    task, fragments = trained
    x, y = blobs(150, 0.0, "v")
    one = fragment_weights(task, fragments, as_validation(x), rule="mixture")
    two = fragment_weights(task, fragments, as_validation((x, 1 - y)), rule="mixture")
    assert one == two


def test_unknown_rules_and_hidden_inputs_are_refused(trained):
    task, fragments = trained
    with pytest.raises(FirecvError, match="no rule 'best'"):
        fragment_weights(task, fragments, as_validation(blobs(9, 0.0, "v")), rule="best")
    with pytest.raises(RegimeError, match="needs the inputs"):
        fragment_weights(task, fragments, as_validation(None))
