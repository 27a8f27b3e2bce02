"""Uses of python-nomad, end to end, against the server whose port is the first argument. Says each that went as it should."""

import json
import queue
import sys
import threading
import time

import nomad
from nomad.api.exceptions import BaseNomadException, URLNotFoundNomadException

NAMESPACE = "python"
client = nomad.Nomad(host="127.0.0.1", port=int(sys.argv[1]), timeout=20)


def job(name, command, arguments, kind="service"):
    task = {
        "Name": "main",
        "Driver": "raw_exec",
        "Config": {"command": command, "args": arguments},
        "Resources": {"CPU": 10, "MemoryMB": 10},
    }
    group = {"Name": "app", "Count": 1, "Tasks": [task], "EphemeralDisk": {"SizeMB": 110}}
    return {"Job": {"ID": name, "Name": name, "Type": kind, "Datacenters": ["*"], "TaskGroups": [group]}}


def eventually(what, ask):
    """What `ask` answers as soon as it is something; a deadline for a test that never would."""
    deadline = time.monotonic() + 30
    while True:
        found = ask()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError("never: " + what)
        threading.Event().wait(0.05)


def registers_and_reads():
    answer = client.jobs.register_job(job("web", "sleep", ["600"]))
    assert len(answer["EvalID"]) == 36 and answer["JobModifyIndex"] > 0
    assert "web" in client.jobs and "nothing" not in client.jobs
    assert client.job["web"]["TaskGroups"][0]["Tasks"][0]["Config"]["command"] == "sleep"
    assert client.evaluation[answer["EvalID"]]["JobID"] == "web"
    [alloc] = eventually(
        "it runs",
        lambda: [one for one in client.job.get_allocations("web") if one["ClientStatus"] == "running"],
    )
    assert client.allocation[alloc["ID"]]["Job"]["ID"] == "web"
    assert client.job.get_summary("web")["Summary"]["app"]["Running"] == 1
    assert client.job.get_deployment("web")["JobID"] == "web"
    assert [one["Version"] for one in client.job.get_versions("web")["Versions"]] == [0]


def follows_evaluations_and_deployments():
    answer = client.job.evaluate_job("web")
    evaluation = eventually(
        "it is evaluated",
        lambda: client.evaluation.get_evaluation(answer["EvalID"])["Status"] == "complete"
        and client.evaluation.get_evaluation(answer["EvalID"]),
    )
    assert answer["EvalID"] in client.evaluations
    assert answer["EvalID"] in [one["ID"] for one in client.job.get_evaluations("web")]
    assert client.evaluation.get_allocations(answer["EvalID"]) == []
    deployment = client.deployment.get_deployment(evaluation["DeploymentID"])
    assert deployment["JobID"] == "web" and deployment["ID"] in client.deployments
    [alloc] = client.deployment.get_deployment_allocations(deployment["ID"])
    assert alloc["ID"] in [one["ID"] for one in client.allocations.get_allocations()]


def waits_for_changes():
    """The package has no method for blocked reads: they are requests with `index` and `wait`."""
    read = client.job.request("web", method="get")
    index = read.headers["X-Nomad-Index"]
    assert int(index) > 0 and read.headers["X-Nomad-KnownLeader"] == "true"
    heard = queue.Queue()

    def wait():
        params = {"index": index, "wait": "15s"}
        heard.put(nomad.Nomad(host="127.0.0.1", port=int(sys.argv[1]), timeout=30).job.request("web", method="get", params=params))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    changed = job("web", "sleep", ["600"])
    changed["Job"]["Meta"] = {"changed": "yes"}
    client.job.register_job("web", changed)
    answer = heard.get(timeout=20)
    assert int(answer.headers["X-Nomad-Index"]) > int(index) and answer.json()["Meta"] == {"changed": "yes"}


def reverts():
    assert client.job.stable_job("web", 0, True)["Index"] > 0
    assert len(client.job.revert_job("web", 0)["EvalID"]) == 36
    assert [one["Version"] for one in client.job.get_versions("web")["Versions"]] == [2, 1, 0]
    assert client.job["web"]["Meta"] is None


def dispatches():
    template = job("template", "/bin/true", [], "batch")
    template["Job"]["ParameterizedJob"] = {"Payload": "optional", "MetaRequired": ["who"]}
    assert client.jobs.register_job(template)["EvalID"] == ""
    child = client.job.dispatch_job("template", payload="Zm9ydHktdHdv", meta={"who": "me"})["DispatchedJobID"]
    assert client.job[child]["ParentID"] == "template" and client.job[child]["Payload"] == "Zm9ydHktdHdv"
    try:
        client.job.dispatch_job("template", meta={})
        raise AssertionError("taken")
    except BaseNomadException as error:
        assert "Dispatch did not provide required meta keys: [who]" in str(error)


def scales():
    scaled = job("scaled", "/bin/true", [], "batch")
    scaled["Job"]["TaskGroups"][0]["Scaling"] = {"Min": 0, "Max": 3}
    client.jobs.register_job(scaled)
    [policy] = client.scaling.get_scaling_policies(job="scaled")
    assert client.scaling.get_scaling_policy(policy["ID"])["Max"] == 3


def reads_logs():
    client.jobs.register_job(job("says", "/bin/echo", ["forty-two"], "batch"))
    [alloc] = eventually(
        "it has ended",
        lambda: [one for one in client.job.get_allocations("says") if one["ClientStatus"] == "complete"],
    )
    said = client.client.stream_logs.stream(alloc["ID"], "main", "stdout", plain=True)
    assert said == "forty-two\n", repr(said)


def plans_and_parses():
    wanted = job("web", "sleep", ["700"])
    plan = client.job.plan_job("web", wanted, diff=True)
    assert plan["Diff"]["Type"] == "Edited", plan["Diff"]["Type"]
    parsed = client.jobs.parse('job "a" {\n  task "t" {\n    driver = "raw_exec"\n  }\n}\n')
    assert parsed["ID"] == "a" and parsed["TaskGroups"][0]["Name"] == "t"
    assert client.validate.validate_job(wanted).json()["ValidationErrors"] is None


def knows_what_is_not_there():
    for ask in (lambda: client.job["nothing"], lambda: client.namespace["nothing"]):
        try:
            ask()
            raise AssertionError("found")
        except KeyError:
            pass
    try:
        client.job.get_job("nothing")
        raise AssertionError("found")
    except URLNotFoundNomadException as error:
        assert "job not found" in str(error)
    broken = job("two words", "true", [])
    try:
        client.jobs.register_job(broken)
        raise AssertionError("taken")
    except BaseNomadException as error:
        assert "Job ID contains a space" in str(error)


def makes_namespaces():
    client.namespace.create_namespace({"Name": NAMESPACE, "Description": "of a test"})
    assert NAMESPACE in client.namespaces
    assert client.namespace.get_namespace(NAMESPACE)["Description"] == "of a test"
    client.namespace.delete_namespace(NAMESPACE)
    eventually("it is gone", lambda: NAMESPACE not in client.namespaces)


def looks_at_machines():
    [node] = client.nodes.get_nodes()
    assert client.node[node["ID"]]["SecretID"] == ""
    assert client.node.eligible_node(node["ID"], eligible=False)["Index"] > 0
    assert client.node[node["ID"]]["SchedulingEligibility"] == "ineligible"
    client.node.eligible_node(node["ID"], eligible=True)
    assert client.agent.get_members()["Members"][0]["Status"] == "alive"
    assert client.operator.get_configuration()["Servers"][0]["Leader"] is True


def searches():
    assert client.search.search("we", "jobs")["Matches"]["jobs"] == ["web"]
    assert client.search.fuzzy_search("eb", "jobs")["Matches"]["jobs"][0]["ID"] == "web"


def hears_events():
    stream, end, events = client.event.stream.get_stream(index=1, topic={"Job": "web"}, timeout=20.0)
    stream.daemon = True
    stream.start()
    try:
        heard = events.get(timeout=20)
    except queue.Empty as empty:
        raise AssertionError("no event") from empty
    finally:
        end.set()
    assert heard["Events"][0]["Topic"] == "Job" and heard["Events"][0]["Key"] == "web", json.dumps(heard)[:300]


def stops():
    assert len(client.job.deregister_job("web", purge=True)["EvalID"]) == 36
    eventually("it is gone", lambda: "web" not in client.jobs)


USES = [
    registers_and_reads,
    follows_evaluations_and_deployments,
    waits_for_changes,
    reverts,
    dispatches,
    scales,
    reads_logs,
    plans_and_parses,
    knows_what_is_not_there,
    makes_namespaces,
    looks_at_machines,
    searches,
    hears_events,
    stops,
]
for use in USES:
    use()
    print(use.__name__, flush=True)
