"""The answers of a round's clients, and their mean."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import DataError
from firecv.federated.bundles import Bundle
from firecv.federated.krum import central
from firecv.tree import Tree

Rule = Literal["mean", "median", "trimmed", "krum", "multikrum"]
TRIMMED_RATE = 0.25
"""The share n/N of the clients that the trimmed mean leaves out at either end. It holds against
clients that lie up to that share (Yin et al., ICML 2018, arXiv 1803.01498): two of ten alike."""


class Upload(NamedTuple):
    """What one client answers.

    Attributes
    ----------
    client
        Its number.
    weight
        Its share among all clients there are; shares of all sum to one.
    content
        What it sends.
    """

    client: int
    weight: float
    content: Bundle


class Average(NamedTuple):
    """A mean over clients.

    Attributes
    ----------
    trees, numbers
        The mean of each entry that all of them sent.
    share
        The sum of the clients' shares; one if all there are have answered.
    """

    trees: dict[str, Tree]
    numbers: dict[str, float]
    share: float


class Uploads:
    """The answers of a round's clients, in the order of their numbers.

    They are read once, as they arrive: either by `mean`, which keeps none of them, or one by one.

    Parameters
    ----------
    answers
        The answers.
    rule
        How `mean` combines them: "mean"; or, against clients that lie, "median" or "trimmed", entry
        by entry, or "krum" or "multikrum", which choose whole answers.

    Attributes
    ----------
    rule
        The rule.
    """

    def __init__(self, answers: Iterable[Upload], rule: Rule = "mean") -> None:
        if rule not in get_args(Rule):
            raise DataError(f"rule is {rule!r}; expected one of {get_args(Rule)}")
        self._answers = iter(answers)
        self.rule: Rule = rule

    def __iter__(self) -> Iterator[Upload]:
        """Return the answers themselves."""
        return self._answers

    def changed(self, change: Callable[[Upload], Upload]) -> "Uploads":
        """Return the same answers, each changed as it is read, to be combined by the same rule.

        Under a robust rule an answer keeps its weight, which must not follow from what it holds.

        Parameters
        ----------
        change
            Returns what takes the place of an answer.

        Examples
        --------
        >>> answers = [Upload(k, 0.25, {"loss": float(k)}) for k in range(4)]
        >>> def trusting(upload):
        ...     return upload._replace(weight=10.0 ** upload.content["loss"])
        >>> [round(Uploads(answers, rule).changed(trusting).mean().numbers["loss"], 2)
        ...  for rule in ("mean", "median")]
        [2.89, 1.5]
        """
        if self.rule == "mean":
            return Uploads(map(change, self._answers), self.rule)
        kept = (change(answer)._replace(weight=answer.weight) for answer in self._answers)
        return Uploads(kept, self.rule)

    def mean(self) -> Average:
        """Return the mean of every entry, weighted by the clients' shares.

        Examples
        --------
        >>> answers = [
        ...     Upload(k, w, {"weights": {"a": torch.tensor([x])}, "loss": x})
        ...     for k, w, x in ((0, 0.5, 1.0), (1, 0.25, 4.0))
        ... ]
        >>> mean = Uploads(answers).mean()
        >>> mean.trees["weights"], mean.numbers["loss"], mean.share
        ({'a': tensor([2.])}, 2.0, 0.75)
        """
        if self.rule == "mean":
            return self._streamed()
        if self.rule in ("krum", "multikrum"):
            return self._chosen()
        return self._robust()

    def _chosen(self) -> Average:
        """Return the answer, or the mean of the answers, that Krum chooses."""
        answers = list(self._answers)
        share = sum(each.weight for each in answers)
        _check_answered(share)
        places = central([_compared(each.content) for each in answers], self.rule == "multikrum")
        return Uploads([answers[place] for place in places])._streamed()._replace(share=share)

    def _streamed(self) -> Average:
        trees: dict[str, Tree] = {}
        numbers: dict[str, float] = {}
        share = 0.0
        for _, weight, content in self._answers:
            first, share = share == 0.0, share + weight
            for name, part in content.items():
                if not isinstance(part, dict):
                    numbers[name] = numbers.get(name, 0.0) + weight * part
                elif first:
                    trees[name] = tree.scale(part, weight)
                else:
                    tree.check_match(trees[name], part)
                    for key, value in part.items():
                        trees[name][key].add_(value, alpha=weight)
        _check_answered(share)
        for part in trees.values():
            for value in part.values():
                value.div_(share)
        return Average(trees, {name: value / share for name, value in numbers.items()}, share)

    def _robust(self) -> Average:
        answers = list(self._answers)
        _check_answered(sum(each.weight for each in answers))
        weights = torch.tensor([each.weight for each in answers], dtype=torch.float64)
        trees: dict[str, Tree] = {}
        numbers: dict[str, float] = {}
        for name, part in answers[0].content.items():
            parts = [each.content[name] for each in answers]
            if isinstance(part, dict):
                columns = [part for part in parts if isinstance(part, dict)]
                trees[name] = {
                    key: self._middle(torch.stack([c[key] for c in columns]), weights)
                    for key in part
                }
            else:
                values = torch.tensor(parts, dtype=torch.float64)
                numbers[name] = float(self._middle(values, weights))
        return Average(trees, numbers, float(weights.sum()))

    def _middle(self, values: Tensor, weights: Tensor) -> Tensor:
        """Return the weighted median, or trimmed mean, over the first axis."""
        rate = 0.5 if self.rule == "median" else TRIMMED_RATE
        ordered, order = values.sort(0)
        mass = (weights / weights.sum())[order]
        upper = mass.cumsum(0)
        # What of each entry's weight lies between the two quantiles; at rate 1/2 a thin band.
        low, high = (rate, 1 - rate) if rate < 0.5 else (0.5 - 1e-9, 0.5 + 1e-9)
        kept = upper.clamp(low, high) - (upper - mass).clamp(low, high)
        return (ordered * kept).sum(0).div(kept.sum(0)).to(values.dtype)


def reweighted(answers: Sequence[Upload], weights: Sequence[float], rule: Rule) -> Uploads:
    """Return answers with other weights; under a robust rule these stay as they are.

    Parameters
    ----------
    answers
        The answers.
    weights
        One for each; they need not sum to one.
    rule
        How to combine them.

    Examples
    --------
    >>> answers = [Upload(k, 0.5, {"loss": float(k)}) for k in range(2)]
    >>> rules = ("mean", "median")
    >>> [round(reweighted(answers, [3, 1], one).mean().numbers["loss"], 2) for one in rules]
    [0.25, 0.5]
    """
    given = {each.client: weight for each, weight in zip(answers, weights, strict=True)}
    return Uploads(answers, rule).changed(lambda each: each._replace(weight=given[each.client]))


def _compared(content: Bundle) -> Tree:
    """Return what Krum compares of an answer: its weights, or all arrays if it has none."""
    weights = content.get("weights")
    if isinstance(weights, dict):
        return weights
    parts = {name: part for name, part in content.items() if isinstance(part, dict)}
    return {f"{name}/{key}": value for name, part in parts.items() for key, value in part.items()}


def _check_answered(share: float) -> None:
    if not share > 0:
        raise DataError("no client has answered, so there is no mean over clients")
