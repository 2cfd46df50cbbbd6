"""A job on Flower's simulation engine: the apps of a deployment, with all clients on one machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from firecv.errors import FederatedError
from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.job import Job
from firecv.federated.flower.outcome import read
from firecv.federated.flower.superlink import SuperLink
