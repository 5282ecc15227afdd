#!/usr/bin/env python3
"""loop_rules - the published loop rules of other harnesses beside `daruma loops`, on the same labelled cases.

    bench/loop_rules.py --cases FILE.jsonl [--daruma PROGRAM]    two tables in Markdown: overall, and per kind
    bench/loop_rules.py --check                                  does each rule speak where its project says?

Each line of the file is one case: id, label (loop or ok), kind, steps (tool, args, result, ok) and earliest, the first
step, counted from 1, at which speaking is justified (null for ok). A loop is found *in time* when a rule first speaks
from earliest to earliest + 2; *early* is before that, where the steps were still honest work or proved nothing. An ok
case in which a rule speaks at all is a false alarm.

The rules are written anew from what their projects document, in the state of autumn 2026, with default thresholds.
Where a project first reminds and later stops, both are rows. What cannot be had from steps alone is left out: judges
that are models, page fingerprints, repetition inside streamed text, wall clocks. Rules that name the tools of their
own harness are given roles read off the words of a tool's name and arguments (see role), which is kinder to them than
no match at all; `__llm_call__` and `__compaction__` are no tool calls and seen by no rule but that of OpenHands.
"""
import argparse, collections, json, os, re, subprocess, sys

Call = collections.namedtuple("Call", "tool args raw sorted result ok at")
BUILT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "daruma"))
LATE_STEPS = 2  # how many steps after `earliest` still count as in time


def calls_of(steps, pseudo=False):
    """The calls among the steps; `raw` keeps the order of the keys, `sorted` does not, `at` counts from 1."""
    return [Call(s["tool"], s["args"], json.dumps(s["args"]), json.dumps(s["args"], sort_keys=True), s["result"], s["ok"], at)
            for at, s in enumerate(steps, 1) if pseudo or not s["tool"].startswith("__")]


# Small words the rules are made of: what makes two calls the same.
by_raw = lambda c: (c.tool, c.raw)
by_sorted = lambda c: (c.tool, c.sorted)
by_all = lambda c: (c.tool, c.sorted, c.result)


def trailing(calls, key):
    """How many calls at the end have the key of the last one."""
    n = 0
    for c in reversed(calls):
        if key(c) != key(calls[-1]):
            break
        n += 1
    return n


def laps(calls, period, key):
    """How many times the last `period` calls stand at the end, one lap behind the other."""
    keys, n = [key(c) for c in calls], 1
    while len(keys) >= period * (n + 1) and keys[len(keys) - period * (n + 1):len(keys) - period * n] == keys[-period:]:
        n += 1
    return n if len(keys) >= period else 0


def cycle(calls, periods, times, key):
    """Is there a period whose last lap stands there `times` times? All-equal laps are no cycle unless 1 is among the periods."""
    return any(laps(calls, p, key) >= times and (p == 1 or len({key(c) for c in calls[-p:]}) > 1) for p in periods)


ROLES = (("poll", r"poll|wait|status|get_result|process"),
         ("shell", r"bash|shell|exec|terminal|run|^(sh|zsh|cmd|ssh)$"),
         ("change", r"write|edit|patch|replace|create|insert|update|append|delete|move|send|click|type|press|navigate|todo|memory|task"),
         ("read", r"read|get|list|search|find|view|cat|open|fetch|lookup|grep|query|snapshot|^ls$"))


def role(call):
    """poll, shell, change, read or other, by the words of the tool's name; a `command` argument makes a shell."""
    for name, words in ROLES:
        if re.search(words, call.tool, re.IGNORECASE):
            return name
    return "shell" if isinstance(call.args, dict) and "command" in call.args else "other"


# The rules: given the calls so far, does it speak now?
def gemini_cli(calls):
    """google-gemini/gemini-cli, loopDetectionService: name and arguments as sent, periods 1 to 5, five laps; results unread."""
    return cycle(calls, range(1, 6), 5, by_raw)


GIT_OVERVIEW = re.compile(r"git(\s+(-C\s+\S+|--no-pager))*\s+(status|ls-files|diff(\s+(-\S+|HEAD\S*|@\S*))*$)")


def qwen_overview(call):
    """Is every part of the command an overview of the repository?"""
    text = call.args.get("command") if isinstance(call.args, dict) else None
    parts = [p.strip() for p in re.split(r"&&|\|\||[;&|\n]", text) if p.strip()] if isinstance(text, str) else []
    return bool(parts) and all(GIT_OVERVIEW.match(p) for p in parts)


def qwen_code(calls):
    """QwenLM/qwen-code, always on: 5 identical in a row; 8 git overviews in a row; past 100 calls any call six times; 1,000 calls."""
    most = max(collections.Counter(map(by_sorted, calls)).values())
    return (trailing(calls, by_sorted) >= 5 or (qwen_overview(calls[-1]) and trailing(calls, qwen_overview) >= 8)
            or (len(calls) > 100 and most >= 6) or len(calls) > 1000)


def qwen_code_heuristic(calls):
    """The same with its opt-in heuristics: a call six times anywhere, A-B three times, 8 reads in 15, one tool 8 times in a row."""
    is_read = lambda c: c.tool.startswith(("read_", "list_"))
    window = calls[-15:]
    return (qwen_code(calls) or sum(by_sorted(c) == by_sorted(calls[-1]) for c in calls) >= 6
            or cycle(calls, [2], 3, by_sorted) or trailing(calls, lambda c: c.tool) >= 8
            or (len(window) >= 8 and any(not is_read(c) for c in calls) and sum(map(is_read, window)) >= 8))


def openhands(calls):
    """OpenHands software-agent-sdk, StuckDetector: same action and result 4, same failing action 3 (the nudge; error text
    unread), 3 messages in a row, A-B three times with results; looks at the last 20 events, summaries do not count."""
    seen = [c for c in calls if c.tool != "__compaction__"]
    message = lambda c: c.tool == "__llm_call__" and c.ok
    if not seen or calls[-1].tool == "__compaction__":
        return False
    if message(seen[-1]):
        return trailing(seen, message) >= 3
    acts = [c for c in seen[-10:] if c.tool != "__llm_call__"]
    if not acts or seen[-1].tool == "__llm_call__":
        return False
    same_failed = [by_sorted(c) == by_sorted(acts[-1]) and not c.ok for c in acts[-3:]]
    return trailing(acts, by_all) >= 4 or (len(same_failed) == 3 and all(same_failed)) or cycle(acts, [2], 3, by_all)


def crush(calls):
    """charmbracelet/crush, loop_detection.go: one (tool, input, output) more than 5 times in the last 10 steps."""
    window = calls[-10:]
    return len(window) == 10 and max(collections.Counter((c.tool, c.raw, c.result) for c in window).values()) > 5


def in_a_row(n, key):
    """The rules of most: so many calls with one key stand at the end."""
    return lambda calls: trailing(calls, key) >= n


def roo_code(calls):
    """RooCodeInc/Roo-Code, ToolRepetitionDetector: the fourth identical call is refused; scrolling of its browser is exempt."""
    scrolls = lambda c: c.tool == "browser_action" and isinstance(c.args, dict) and str(c.args.get("action")).startswith("scroll_")
    counted = [c for c in calls if not scrolls(c)]
    return bool(counted) and counted[-1] is calls[-1] and trailing(counted, by_sorted) >= 4


def browser_use_key(call):
    """browser-use's spelling of an action: the words of a search sorted, a click by its index, the rest with sorted keys."""
    args = call.args if isinstance(call.args, dict) else {"": call.args}
    if "search" in call.tool and isinstance(args.get("query"), str):
        return call.tool, " ".join(sorted(set(re.findall(r"\w+", args["query"].lower()))))
    if call.tool in ("click", "input") and "index" in args:
        return call.tool, args["index"], str(args.get("text", "")).strip().lower()
    return call.tool, json.dumps({k: v for k, v in args.items() if v is not None}, sort_keys=True)


def browser_use(n):
    """browser-use/browser-use, ActionLoopDetector: the most frequent action of the last 20 reaches 5, 8, 12 (nudges only)."""
    return lambda calls: max(collections.Counter(map(browser_use_key, calls[-20:])).values()) >= n


def zeroclaw(more):
    """zeroclaw-labs/zeroclaw, loop_detector.rs: 3 identical in a row, results unread; two tool names alternating 4 times; 5 times
    one tool and one result in the last 20 with other arguments. Failed results are not recorded. `more` steps to the break,
    which the third never reaches."""
    def speaks(calls):
        window = [c for c in calls if c.ok][-20:]
        if not window or not calls[-1].ok:
            return False
        alike = [c for c in window if (c.tool, c.result) == (window[-1].tool, window[-1].result)]
        return (trailing(window, by_sorted) >= 3 + more or cycle(window, [2], 4 + more, lambda c: c.tool)
                or (not more and len(alike) >= 5 and len({c.sorted for c in alike}) > 1))
    return speaks


def stella_appends(a, b):
    """Does b send the whole of a, and more, under the same keys?"""
    if not (isinstance(a.args, dict) and isinstance(b.args, dict) and a.tool == b.tool and a.args.keys() == b.args.keys()):
        return False
    changed = [(v, b.args[k]) for k, v in a.args.items() if v != b.args[k]]
    return bool(changed) and all(isinstance(x, str) and isinstance(y, str) and y.startswith(x) for x, y in changed)


def stella(calls):
    """macanderson/stella, loop_detect: identical call and output 3 in a row; periods 2 to 4 three times; 3 anywhere in the
    window (40) unless a repeated query answered differently; one tool and output 6 in a row; a command sent 8 times, each time
    with more at its end. Its sweep over numbers, and the origin of tools that frees some from the fourth, are left out."""
    window, last = calls[-40:], by_all(calls[-1])
    if trailing(window, by_all) >= 3 or cycle(window, range(2, 5), 3, by_all):
        return True
    answers = collections.defaultdict(set)
    for c in window:
        answers[by_sorted(c)].add(c.result)
    if sum(by_all(c) == last for c in window) >= 3 and all(len(a) == 1 for a in answers.values()):
        return True
    grown = 1
    while grown < len(window) and stella_appends(window[-grown - 1], window[-grown]):
        grown += 1
    return trailing(window, lambda c: (c.tool, c.result)) >= 6 or grown >= 8


def hermes(exact, tool, still):
    """NousResearch/hermes-agent, tool_guardrails.py: an exact failure, any failures of one tool, an unchanged read, an identical
    call or a cycle of 2 to 4 (3 laps, or `still`) reach their counts; warns at 2, 3, 2, 3 and halts unattended at 5, 8, 5, 5.
    Success of a changing tool resets failures; shells never halt for other commands; pollers are exempt from the last two."""
    halts = still > 2
    def speaks(calls):
        now, failed, by_tool, progress, reads = calls[-1], collections.Counter(), collections.Counter(), set(), {}
        for c in calls:
            key = by_sorted(c)
            if not c.ok:
                failed[key] = 1 if key in progress else failed[key] + 1
                progress.discard(key)
                by_tool[c.tool] += 1
                reads.pop(key, None)
                continue
            failed.pop(key, None)
            by_tool.pop(c.tool, None)
            if role(c) in ("change", "shell"):
                progress.update(failed)
                by_tool.clear()
            elif role(c) == "read":
                before, n = reads.get(key, (None, 0))
                reads[key] = c.result, n + 1 if before == c.result else 1
        key, lap = by_sorted(now), max(still, 3)
        if not now.ok and (failed[key] >= exact or (by_tool[now.tool] >= tool and not (halts and role(now) == "shell"))):
            return True
        if now.ok and role(now) == "read" and reads[key][1] >= still:
            return True
        return (role(now) != "poll" and trailing(calls, by_all) >= lap) or any(
            cycle(calls[-64:], [p], lap, by_all) and any(role(c) != "poll" for c in calls[-p:]) for p in range(2, 5))
    return speaks


def without(names):
    """The signature without the arguments that only say how much is wanted."""
    def key(call):
        args = {k: v for k, v in call.args.items() if k not in names} if isinstance(call.args, dict) else call.args
        return call.tool, json.dumps(args, sort_keys=True)
    return key


def kb_labs(calls):
    """KB Labs (K-F21, K-F22): one signature three times and no new file read or changed; the last three signatures twice."""
    files, repeats, before = set(), 0, None
    for c in calls:
        args = c.args if c.ok and isinstance(c.args, dict) else {}
        touched = {v for k, v in args.items() if k in ("path", "file", "file_path") and isinstance(v, str)}
        same = without({"limit"})(c) == before and touched <= files
        repeats, before = repeats + 1 if same else 0, without({"limit"})(c)
        files |= touched
    last = [without({"limit", "offset"})(c) for c in calls[-6:]]
    return repeats >= 2 or (len(last) == 6 and last[:3] == last[3:])


RULES = (
    ("gemini-cli", gemini_cli), ("qwen-code", qwen_code), ("qwen-code, heuristics on", qwen_code_heuristic), ("OpenHands", openhands),
    ("crush", crush), ("Roo Code", roo_code), ("Cline, notice", in_a_row(3, by_sorted)), ("Cline, stop", in_a_row(5, by_sorted)),
    ("kimi-cli, reminder", in_a_row(3, by_sorted)), ("kimi-cli, stop", in_a_row(12, by_sorted)), ("opencode", in_a_row(3, by_raw)),
    ("just-every/code", in_a_row(2, by_all)), ("crewAI", in_a_row(2, by_sorted)), ("browser-use, first nudge", browser_use(5)),
    ("browser-use, last nudge", browser_use(12)), ("zeroclaw, warning", zeroclaw(0)), ("zeroclaw, break", zeroclaw(2)), ("stella", stella),
    ("hermes-agent, warning", hermes(2, 3, 2)), ("hermes-agent, halt", hermes(5, 8, 5)), ("KB Labs", kb_labs))


def speaks_at(rule, steps):
    """The step at which the rule first speaks, or None."""
    calls = calls_of(steps, pseudo=rule is openhands)
    return next((calls[n - 1].at for n in range(1, len(calls) + 1) if rule(calls[:n])), None)


def daruma_at(program, path):
    """What `daruma loops --jsonl` says of each case: id to step. None, with the reason, when it cannot be asked."""
    try:
        with open(path, "rb") as f:
            run = subprocess.run([program, "loops", "--jsonl"], stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        return {r["id"]: r["at"] if r["verdict"] == "loop" else None for r in map(json.loads, run.stdout.splitlines())}, None
    except subprocess.CalledProcessError as e:
        return None, f"it ended with {e.returncode}: {e.stderr.decode(errors='replace').strip()[:200]}"
    except (OSError, ValueError, KeyError) as e:
        return None, repr(e)


def outcome(case, at):
    """in time, early, late, missed; for honest work quiet or false alarm."""
    if case["label"] == "ok":
        return "quiet" if at is None else "false alarm"
    after = None if at is None else at - case["earliest"]
    return "missed" if after is None else "early" if after < 0 else "in time" if after <= LATE_STEPS else "late"


def tables(cases, rows):
    """Prints both; `rows` is (name, id to step)."""
    loops, oks = (sum(c["label"] == label for c in cases) for label in ("loop", "ok"))
    print(f"| | rule | in time, of {loops} | early | late | missed | false alarms, of {oks} |\n|---:|---|---:|---:|---:|---:|---:|")
    for number, (name, said) in enumerate(rows, 1):
        n = collections.Counter(outcome(c, said.get(c["id"])) for c in cases)
        print(f"| {number} | {name} | {n['in time']} | {n['early']} | {n['late']} | {n['missed']} | {n['false alarm']} |")
    print("\nPer kind, with the rules by their numbers: loops found in time, then work with a false alarm.\n")
    for label, counted, title in (("loop", "in time", "loops"), ("ok", "false alarm", "work")):
        print(f"| {title} | cases | " + " | ".join(str(n + 1) for n in range(len(rows))) + " |\n|---|---:|" + "---:|" * len(rows))
        for kind in sorted({c["kind"] for c in cases if c["label"] == label}):
            those = [c for c in cases if (c["label"], c["kind"]) == (label, kind)]
            cells = (sum(outcome(c, said.get(c["id"])) == counted for c in those) for _, said in rows)
            print(f"| {kind} | {len(those)} | " + " | ".join(str(n or "·") for n in cells) + " |")
        print()


# Letters are calls that always answer alike (capitals succeed, small ones fail); digits are one call with a new answer each time.
CHECKS = (("gemini-cli", "AAAAAA", 5), ("gemini-cli", "ABABABABAB", 10), ("gemini-cli", "111111", 5), ("qwen-code", "AAAAA", 5),
          ("qwen-code", "ABABABABABAB", None), ("qwen-code, heuristics on", "ABABAB", 6), ("OpenHands", "AAAA", 4),
          ("OpenHands", "aaa", 3), ("OpenHands", "ABABAB", 6), ("OpenHands", "1111", None), ("crush", "ABABABABABAAA", 12),
          ("crush", "AAAAAAAAAA", 10), ("Roo Code", "AAAA", 4), ("Cline, notice", "BAAA", 4), ("Cline, stop", "AAAAA", 5),
          ("kimi-cli, reminder", "111", 3), ("kimi-cli, stop", "A" * 12, 12), ("opencode", "AAA", 3), ("just-every/code", "AA", 2),
          ("just-every/code", "11", None), ("crewAI", "11", 2), ("browser-use, first nudge", "ABACADAEA", 9),
          ("browser-use, last nudge", "A" * 12, 12), ("zeroclaw, warning", "AAA", 3), ("zeroclaw, warning", "aaaaaa", None),
          ("zeroclaw, break", "AAAAA", 5), ("zeroclaw, warning", "ABABABAB", 8), ("stella", "AAA", 3), ("stella", "ABCABCABC", 7),
          ("stella", "1A1A1A1", None), ("hermes-agent, warning", "aa", 2), ("hermes-agent, halt", "aaaaa", 5),
          ("hermes-agent, halt", "ABABABABAB", 10), ("KB Labs", "AAA", 3), ("KB Labs", "ABCABC", 6), ("KB Labs", "ABAB", None))


def check():
    """Each rule on sequences whose step follows from its documentation; the exit code tells."""
    rules, wrong = dict(RULES), 0
    for name, text, want in CHECKS:
        steps = [{"tool": "T1" if c.isdigit() else "T" + c, "args": {"x": 1}, "result": str(n) if c.isdigit() else c, "ok": not c.islower()}
                 for n, c in enumerate(text)]
        got = speaks_at(rules[name], steps)
        if got != want:
            wrong += 1
            print(f"{name} on {text}: speaks at {got}, should at {want}")
    print(f"loop_rules: {len(CHECKS)} checks, {wrong} wrong")
    return wrong != 0


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("--cases", metavar="FILE", help="labelled cases, one JSON object a line")
    arg.add_argument("--daruma", metavar="PROGRAM", default=BUILT, help="the program of the last row (default: build/daruma)")
    arg.add_argument("--check", action="store_true", help="check the rules themselves, without cases")
    opt = arg.parse_args()
    if opt.check:
        sys.exit(check())
    if not opt.cases or not os.path.exists(opt.cases):
        where = " at " + opt.cases if opt.cases else ""
        sys.exit(f"loop_rules: no cases{where}; --cases names a file with one case a line: id, label, kind, steps, earliest")
    with open(opt.cases, encoding="utf-8") as f:
        cases = [json.loads(line) for line in f if line.strip()]
    rows = [(name, {c["id"]: speaks_at(rule, c["steps"]) for c in cases}) for name, rule in RULES]
    said, why = daruma_at(opt.daruma, opt.cases)
    if said is not None and said.keys() != {c["id"] for c in cases}:
        said, why = None, f"it answered {len(said)} of {len(cases)} cases"
    tables(cases, rows if said is None else rows + [("daruma", said)])
    if why:
        sys.exit(f"loop_rules: no row for daruma: {opt.daruma} loops --jsonl: {why}")


main()
