"""How schemathesis is helped along: half of its questions are about things that there are.

What no schema can say is kept out: a range of statuses that runs backwards, and `follow=1`, whose answer
has no end.
"""

import json
import os
import re

import schemathesis

# A browser, a tab, a connection and a request that exist.
KNOWN = json.loads(os.environ["BOWLINE_KNOWN"])


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    for name, value in (path_parameters or {}).items():
        if name in KNOWN and sum(map(ord, str(value))) % 2:
            path_parameters[name] = KNOWN[name]
    return path_parameters


@schemathesis.hook
def map_query(context, query):
    if isinstance(query, dict) and query.get("follow") in ("1", "true"):
        return {name: value for name, value in query.items() if name != "follow"}
    return query


@schemathesis.hook
def filter_query(context, query):
    codes = query.get("statusCodes", "") if isinstance(query, dict) else ""
    return all(first <= last for first, last in re.findall(r"(\d{3})-(\d{3})", str(codes)))
