"""Secure aggregation in a client on Flower: its secrets are in Flower's context, for one round."""

from collections.abc import Callable
from typing import Final, Literal, cast

from flwr.app import ConfigRecord, Context

from firecv.federated.bundles import Bundle
from firecv.federated.codec import decode, encode
from firecv.federated.fleet import Phase, parted
from firecv.federated.flower.records import Request
from firecv.federated.secure.letters import split
from firecv.federated.secure.stages import check_round, masked, stage_answered

MASKED: Final[tuple[Phase, ...]] = ("sketch", "keys", "shares", "masked", "unmask")
"""What is asked for where uploads are masked."""
SECRETS: Final = "secrets"
UPLOAD: Final = "upload"
"""What a client has trained and not sent yet."""

Train = Callable[[Literal["train", "report"], Bundle], Bundle]


def masked_answer(context: Context, request: Request, sent: Bundle, train: Train) -> Bundle:
    """Return what a client answers where uploads are masked.

    Parameters
    ----------
    context
        Flower's; secrets are kept in its state.
    request
        What is asked for, one of `MASKED`.
    sent
        What the server sends along.
    train
        Returns the upload of the algorithm, with a report if it is asked for one.
    """
    if request.phase == "sketch":
        answer = train("report", sent)
        _, upload = parted(answer)
        _keep(context, UPLOAD, request, upload)
        return {name: answer[name] for name in answer if name not in upload}
    letter, rest = split(sent)
    secrets = _kept(context, SECRETS, request)
    if request.phase == "masked":
        check_round(request.number, secrets)
        upload = _kept(context, UPLOAD, request) or train("train", rest)
        found, secrets = masked(letter, secrets, request.client, upload)
        context.state.pop(UPLOAD, None)
    else:
        assert request.phase in ("keys", "shares", "unmask")
        found, secrets = stage_answered(
            request.phase, request.number, letter, secrets, request.client
        )
    _keep(context, SECRETS, request, secrets)
    return found


def _keep(context: Context, name: str, request: Request, bundle: Bundle) -> None:
    context.state[name] = ConfigRecord(
        {"session": request.session, "number": request.number, "bundle": encode(bundle)}
    )


def _kept(context: Context, name: str, request: Request) -> Bundle:
    """Return what was kept in this round; nothing if it is of another."""
    found = context.state.config_records.get(name)
    if found is None or (found["session"], found["number"]) != (request.session, request.number):
        return {}
    return decode(cast("bytes", found["bundle"]))
