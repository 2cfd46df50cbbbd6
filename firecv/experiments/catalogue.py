"""Every table by name."""

from firecv.errors import DataError
from firecv.experiments.paper import (
    batchwise,
    diagnostics,
    federated,
    fold_forms,
    folds,
    rotated,
    selection,
    strengths,
)
from firecv.experiments.spec import Declared, ProtocolName, Table
from firecv.experiments.study import (
    federated_labeled,
    forms,
    hostile,
    influence,
    influence_images,
    natural,
    robust,
    stress,
    weigh,
)

TABLES: dict[str, Declared] = {
    "rotated": rotated.table,
    "rotated-cnn": rotated.cnn_table,
    "selection": selection.table,
    "strengths": strengths.table,
    "batches-stcv": batchwise.stcv_table,
    "batches-fire": batchwise.fire_table,
    "folds-stcv": folds.stcv_table,
    "folds-fire": folds.fire_table,
    "folds-forms": fold_forms.table,
    "federated": federated.table,
    "diagnostics": diagnostics.table,
    "forms-tables": forms.tables_table,
    "forms-images": forms.images_table,
    "forms-size": forms.size_table,
    "weigh": weigh.table,
    "weigh-other": weigh.other_table,
    "weigh-classes": weigh.classes_table,
    "weigh-size": weigh.size_table,
    "weigh-settings": weigh.settings_table,
    "weigh-algorithms": weigh.algorithms_table,
    "weigh-rounds": weigh.rounds_table,
    "weigh-weights": weigh.weights_table,
    "robust": robust.table,
    "hostile": hostile.table,
    "hostile-trigger": hostile.trigger_table,
    "federated-labeled": federated_labeled.table,
    "federated-natural": federated_labeled.natural_table,
    "stress": stress.table,
    "natural": natural.linear_table,
    "natural-boosting": natural.boosting_table,
    "natural-forest": natural.forest_table,
    "natural-network": natural.network_table,
    "influence-tables": influence.tables_table,
    "influence-sensitivity": influence.sensitivity_table,
    "influence-images": influence_images.table,
}
"""How each table is declared."""
PROTOCOLS: tuple[ProtocolName, ...] = ("clean", "paper")


def table(name: str, protocol: ProtocolName = "clean") -> Table:
    """Return a table by its name.

    Parameters
    ----------
    name
        A key of `TABLES`.
    protocol
        Where scores come from.

    Examples
    --------
    >>> table("folds-stcv").rows[:2]
    ('Appendicitis', 'Lymphography')
    """
    if name not in TABLES:
        raise DataError(f"there is no table {name!r}; choose from {', '.join(TABLES)}")
    return TABLES[name](protocol)
