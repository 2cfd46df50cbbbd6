"""Parts of a study made up by hand, and names that try to break out of the page."""

import copy

HOSTILE = "<script>window.hacked=1</script>"
CLOSING = '</script><img src=x onerror="window.hacked=1">'
SITES = ("Kiel", "Ulm", "Bonn")


def fragment(name, auc, **changes):
    return {
        "fragment": name,
        "n_rows": 200,
        "n_used": 200,
        "n_validation_used": 100,
        "classifier": "linear",
        **around("auc", auc),
        **around("kl", 0.2),
        **around("gamma", 0.7),
        "p_value": 0.001,
        "adjusted_p_value": 0.003,
        "alarm": auc > 0.7,
        "detectable_auc": 0.6,
        "shared_rate": 0.0,
        "fisher_q": 0.04,
        "gamma_below_one": True,
        **{
            f"{kind}_{term}": 0.5
            for kind in ("bound", "proven")
            for term in ("gamma_squared", "gamma_cubed", "mixed", "cubic")
        },
        "bound_total": 2.5,
        "blank": "",
        "blank_fisher": "",
        **changes,
    }


def around(name, value):
    return {name: value, f"{name}_low": value - 0.05, f"{name}_high": value + 0.05}


def too_small(name):
    empty = {key: None for key, value in fragment(name, 0.5).items() if isinstance(value, float)}
    return fragment(name, 0.5) | empty | {"n_rows": 8, "blank": "8 rows; 10 or more are needed"}


def feature(fragment_name, name, rank, importance):
    return {
        "fragment": fragment_name,
        "feature": name,
        "rank": rank,
        **around("importance", importance),
        **around("difference", 4 * importance),
        "ks": 0.3,
    }


def diagnosis(names=SITES, features=("age", "dose", "weight")):
    first, second, third = names
    return {
        "kind": "diagnosis",
        "version": 1,
        "data": {
            "source": "folder/sites.csv",
            "fragments": {first: 200, second: 200, third: 8},
            "n_validation": 100,
            "features": list(features),
        },
        "level": 0.05,
        "regime": "labelled",
        "verdict": "shift",
        "advice": [f"Shift: rows of {first} can be told from those of V.", "Try pooled."],
        "shifted": [first],
        "whole": {"statistic": 9.0, "degrees": 8.0, "p_value": 0.3, "alarm": False, "blank": ""},
        "fragments": [fragment(second, 0.51), fragment(first, 0.83), too_small(third)],
        "features": [
            feature(name, each, rank, 0.3 / rank)
            for name in (first, second)
            for rank, each in enumerate(features, start=1)
        ],
        "pairs": [
            {"first": first, "second": second, "auc": 0.8},
            {"first": first, "second": third, "auc": None},
            {"first": second, "second": third, "auc": None},
        ],
    }


METHODS = (
    ("erm", "ERM", "none", 0.74),
    ("fire", "FIRE", "summary", 0.78),
    ("riwerm", "RIWERM", "unlabelled", 0.75),
    ("pooled", "Pooled", "labelled", 0.80),
)


def comparison(methods=METHODS, n_seeds=3, metric="accuracy"):
    scores = [
        {
            "method": key,
            "label": label,
            "regime": regime,
            "seed": seed,
            "accuracy": mean,
            "balanced_accuracy": mean - 0.01,
            "auc": mean + 0.05,
            "log_loss": 0.5,
            "calibration_error": 0.05,
        }
        for key, label, regime, mean in methods
        for seed in range(n_seeds)
    ]
    summary = []
    for key, label, regime, mean in methods:
        gap = None if key == "erm" else mean - methods[0][3]
        summary.append(
            {
                "method": key,
                "label": label,
                "regime": regime,
                "n_seeds": n_seeds,
                "mean": mean,
                "sd": 0.01,
                "low": mean - 0.02,
                "high": mean + 0.02,
                "difference": gap,
                "difference_low": None if gap is None else gap - 0.02,
                "difference_high": None if gap is None else gap + 0.02,
                "p_value": None,
                "adjusted_p_value": None,
            }
        )
    won = "Among methods that see its labels, Pooled is best."
    return {
        "kind": "comparison",
        "version": 1,
        "data": diagnosis()["data"],
        "settings": {"protocol": "clean", "n_epochs": 50, "hidden": [64, 64], "jobs": None},
        "baseline": "erm",
        "metric": metric,
        "scores": scores,
        "summary": summary,
        "winners": [{"regime": "labelled", "method": "pooled", "said": won}],
        "said": [won, "Halves of different seeds share rows."],
    }


def federation(names=SITES, n_rounds=4):
    records = [
        {
            "round": at,
            "clients": list(range(len(names))) if at else [],
            "failures": {"1": "no answer"} if at == 2 else {},
            "is_void": False,
            "bytes_up": 1_000_000 if at else 0,
            "bytes_down": 2_000_000 if at else 0,
            "seconds": 0.1,
            "weights": [0.5, 0.3, 0.2],
            "statistic": None,
            "p_value": 0.02 if at == 2 else None,
            "scores": {"validation_accuracy": 0.5 + 0.05 * at, "test_accuracy": 0.5 + 0.04 * at},
            "client_scores": {},
        }
        for at in range(n_rounds + 1)
    ]
    return {
        "kind": "federation",
        "version": 1,
        "algorithm": "FIRE",
        "clients": list(names),
        "stopped": None,
        "result": {"validation": {"accuracy": 0.7}, "test": {"accuracy": 0.66, "loss": 0.5}},
        "records": records,
    }


def all_parts():
    return {"diagnosis": diagnosis(), "comparison": comparison(), "federation": federation()}


def hostile_parts():
    """Return parts in which every text a user writes tries to become markup."""
    names = (HOSTILE, CLOSING, '" onmouseover="window.hacked=1')
    methods = [(key, f"{label} {CLOSING}", regime, mean) for key, label, regime, mean in METHODS]
    found = {
        "diagnosis": diagnosis(names, (HOSTILE, CLOSING, "<!-- <b>&amp; \u2028 \u202e")),
        "comparison": comparison(methods),
        "federation": federation(names),
    }
    found["diagnosis"]["data"]["source"] = "<b onclick=hack()>.csv"
    found["comparison"]["data"] = copy.deepcopy(found["diagnosis"]["data"])
    found["comparison"]["settings"] = {HOSTILE: CLOSING}
    found["comparison"]["said"] = [CLOSING]
    found["federation"]["algorithm"] = HOSTILE
    found["federation"]["stopped"] = CLOSING
    return found
