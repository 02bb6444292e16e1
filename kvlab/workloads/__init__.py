"""Workloads: the requests that a model or the twin runs. Named scenarios, case files, conversations, streams of token ids."""

from __future__ import annotations

from kvlab.workloads.cases import case
from kvlab.workloads.conversation import Conversations
from kvlab.workloads.names import named, resolve
from kvlab.workloads.request import GREEDY, Follow, Request, Sampling
from kvlab.workloads.scenarios import branches, chat, repeat, unrelated
from kvlab.workloads.workload import Workload

__all__ = [
    "GREEDY",
    "Conversations",
    "Follow",
    "Request",
    "Sampling",
    "Workload",
    "branches",
    "case",
    "chat",
    "named",
    "repeat",
    "resolve",
    "unrelated",
]
