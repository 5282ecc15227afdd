/* stall_vain.h - calls in vain, most of them as others have published them: edits that change nothing, commands that do
 * nothing, reports that stand still. And work that looks much like it.
 */
#ifndef STALL_VAIN_H
#define STALL_VAIN_H
#include "stall_cases.h"

#define REACTOR                                                                                                        \
    "=== REACTOR SYSTEM HEALTH ===\\nCurrent Output: 85.0 TW\\nOriginal Capacity: 250.0 TW\\nOperating at: 34.0% of "  \
    "original\\nCoolant Status: Primary coolant line breach, secondary manifold damaged\\nFuel Remaining: 300.0 "      \
    "years at current consumption\\nSystem Status: critical\n"
#define ENGINES                                                                                                        \
    "=== ENGINE SYSTEM HEALTH ===\\nPower Draw: 45.0 TW\\nThrust Level: 25.0% of maximum\\nCurrent Acceleration: "     \
    "0.00115 m/s\\nSystem Status: critical\n"
#define CLUSTER                                                                                                        \
    "Cluster: web\\nNodes: 3 of 3\\nVersion: 1.29.4\\nRegion: eu-west\\nCapacity: 40 cores\\nReleased by: ann\\n"      \
    "Phase: PENDING_APPROVAL\n"

static const stall_case stall_loops_vain[] = {
    /* ISO-Bench/ISO-Bench, vllm/trae/gpt-4o, vllm_core-0007: without what the edit quotes */
    {"one edit is sent again, its text stands nowhere, and the file is read between", 7,
     "5*(\n! str_replace_based_edit_tool {\"command\":\"str_replace\",\"path\":\"/src/run.py\",\"old_str\":\"ids = "
     "zeros(n)\",\"new_str\":\"ids = empty(n)\"} => No replacement was performed, old_str `ids = zeros(n)` did not "
     "appear verbatim in /src/run.py.\n"
     "str_replace_based_edit_tool {\"command\":\"view\",\"path\":\"/src/run.py\",\"view_range\":[{n},90]} => {n} "
     "ids[{w}] = {n}\n"
     "str_replace_based_edit_tool {\"command\":\"view\",\"path\":\"/src/{w}.py\"} => def {w}(): return {n}\n)"},
    /* multi-swe-bench/experiments, 20240825_SWE-agent_deepseek-coder-v2, google__gson-1391.traj */
    {"a file whose name the shell eats, other looks before and between", 8,
     "bash create a.java => [File: /gson/a.java (1 lines total)]\\n1:\n"
     "bash edit 1:1\\nenum E { ONE } => [File: /gson/a.java (1 lines total)]\\n1:enum E { ONE }\n"
     "bash find_file Gson.java => Found 1 matches for \"Gson.java\" in /gson:\\n/gson/src/Gson.java\n"
     "bash open /gson/src/Gson.java => [File: /gson/src/Gson.java (1031 lines total)]\\n1:/* Copyright\n"
     "! bash open /gson/internal/$Gson$Types.java => File /gson/internal/.java not found\n"
     "! bash open /gson/internal/$Gson$Types.java => File /gson/internal/.java not found\n"
     "! bash open /gson/internal/GsonTypes.java => File /gson/internal/GsonTypes.java not found\n"
     "! bash open /gson/internal/$Gson$Types.java => File /gson/internal/.java not found\n"
     "! bash open /gson/internal/GsonTypes.java => File /gson/internal/GsonTypes.java not found"},
    /* lgonzalez876/AgentEvals, humans_no-super_ceo-reward/deepseek-r1-distill-llama-70b_run_004.md */
    {"two parts of a ship are looked at in turn, then one again and again", 6,
     "2*(\nscan_system_health system=Reactor => " REACTOR "scan_system_health system=Engines => " ENGINES ")\n"
     "6* scan_system_health system=Reactor => " REACTOR},
    {"how it stands is asked again, and it is a page that stays", 5,
     "4*(\nget_cluster_status {\"name\":\"web\"} => " CLUSTER "get_system_health {\"unit\":\"engines\"} => " ENGINES
     ")"},
    /* openai/codex#6970 */
    {"done, and then nothing is done", 4,
     "shell cd /home/g/suite/front && git status --short => (no output)\n"
     "6* shell cd /home/g/suite/front && true => (no output)"},
    /* anthropics/claude-code#64218 */
    {"true, and ok, and alive", 3,
     "3* Bash true => (No output)\n4* Bash echo ok => ok\nBash echo \"test-$(whoami)\" => test-steve\n"
     "5* Bash echo alive => alive"},
    {"nothing is done in ever new words", 5, "9* bash echo \"marker {w}\" => marker {w}"},
    /* what CrewAI says to a call that is made again */
    {"the framework says that it was asked before", 3,
     "jira_fetch_ticket {\"ticket_key\":\"SUP-1\"} => {\\n  \"key\": \"SUP-1\",\\n  \"summary\": \"Login issue\"\\n}\n"
     "6* jira_fetch_ticket {\"ticket_key\":\"SUP-1\"} => I tried reusing the same input, I must stop using this action "
     "input.\\nI'll try something else instead."},
};

static const stall_case stall_work_vain[] = {
    {"an edit is refused, the file is read, and another edit fits", 0,
     "5*(\n! edit_file {\"path\":\"{w}.py\",\"old\":\"x = 0\",\"new\":\"x = 1\"} => No replacement was performed.\n"
     "read_file {\"path\":\"{w}.py\"} => x  =  {n}\n"
     "edit_file {\"path\":\"{w}.py\",\"old\":\"x  =  {n}\",\"new\":\"x = 1\"} => edited\n)"},
    {"one edit in each of ten files, and one has its text", 0,
     "! 9* edit_file {\"path\":\"src/{w}.py\",\"old\":\"import six\",\"new\":\"\"} => No replacement was performed.\n"
     "edit_file {\"path\":\"src/main.py\",\"old\":\"import six\",\"new\":\"\"} => edited"},
    {"an edit that failed twice works after a formatter ran", 0,
     "! 2* edit_file {\"path\":\"a.py\",\"old\":\"x = 0\",\"new\":\"x = 1\"} => No replacement was performed.\n"
     "bash black a.py => reformatted a.py\n"
     "edit_file {\"path\":\"a.py\",\"old\":\"x = 0\",\"new\":\"x = 1\"} => edited"},
    {"one failing test, an edit before each run, one of them refused", 0,
     "2*(\nedit_file {\"path\":\"q.go\",\"old\":\"a{w}\",\"new\":\"b{w}\"} => edited\n! bash go test ./... => --- "
     "FAIL: "
     "TestQ (0.00s)\n)\n! edit_file {\"path\":\"q.go\",\"old\":\"zz\",\"new\":\"z\"} => No replacement was performed.\n"
     "edit_file {\"path\":\"q.go\",\"old\":\"zy\",\"new\":\"z\"} => edited\n"
     "! bash go test ./... => --- FAIL: TestQ (0.00s)"},
    {"words between pieces of work", 0,
     "8*(\nbash echo \"=== {w} ===\" => === {w} ===\nwrite_file {\"path\":\"{w}.txt\",\"text\":\"{n}\"} => written\n)"},
    {"a few headings, then the work", 0,
     "4* bash echo \"== {w} ==\" => == {w} ==\n6* read_file {\"path\":\"{w}.py\"} => def {w}(): return {n}"},
    {"what variables hold", 0, "9* bash echo $VAR_{w} => {n}\n9* cmd echo %VAR_{w}% => {n}"},
    {"lines are put into files by echo and printf", 0,
     "8* bash echo \"{w}\" >> out.txt =>\n8* bash printf '{w}' > {w}.txt =>"},
    {"a service is asked by hand until it answers", 0,
     "! 9* bash echo PING | nc localhost 6379 => connect to localhost port 6379 failed: Connection refused\n"
     "bash echo PING | nc localhost 6379 => +PONG"},
    {"how a shell quotes is tried out", 0,
     "bash echo 'a\\\\nb' => a\\\\nb\nbash echo -e 'a\\\\nb' => a\\nb\nbash printf 'a\\\\nb' => a\\nb\n"
     "bash printf '%s' 'a\\\\nb' => a\\\\nb\nbash printf '%q' 'a b' => a\\\\ b\nwrite_file {\"path\":\"q.sh\"} => "
     "written"},
    {"one directory after the other is built", 0, "8* bash cd {w} && make => built {w} in {n} ms"},
    {"nothing but a pause between two looks at a page that stays", 0,
     "9*(\nget_cluster_status {\"name\":\"web\"} => " CLUSTER "sleep {\"seconds\":30} => slept\n)"},
    {"it is asked how it stands, and to wait for a change", 0,
     "9* get_cluster_status {\"name\":\"web\",\"wait_seconds\":30} => " CLUSTER},
    {"a long answer that says it is running", 0,
     "12* get_job_status {\"id\":7} => {\"id\":7,\"name\":\"nightly\",\"owner\":\"ann\",\"queue\":\"gpu\",\"status\":"
     "\"running\",\"priority\":\"high\",\"node\":\"n1\",\"image\":\"train:4\",\"restarts\":0}"},
    {"not well, and then well", 0,
     "14* check_health {\"url\":\"http://app:8080\"} => unhealthy\ncheck_health {\"url\":\"http://app:8080\"} => "
     "healthy"},
    {"a report whose numbers move", 0,
     "12* get_system_health {} => Host: web-1\\nLoad: {n}\\nMemory used: {n} MB\\nDisk used: 40 GB\\nUsers logged in: "
     "3\\nServices failed: 0"},
    {"a report between repairs", 0,
     "5*(\nget_system_health {} => Host: web-1\\nLoad: 3\\nMemory used: 20 MB\\nDisk used: 40 GB\\nUsers logged in: "
     "3\\n"
     "Services failed: many\nrepair_unit {\"unit\":\"{w}\"} => The unit {w} was rebuilt from its image and is up "
     "again.\n)"},
    {"the same report for each of many hosts", 0,
     "12* get_system_health {\"host\":\"{w}\"} => Kernel: 6.1\\nDistribution: Debian 12\\nUpdates: none\\nDisk used: "
     "few\\nUsers logged in: nobody\\nServices failed: none"},
    {"reads of one overview after each piece of work", 0,
     "6*(\nget_board_status {} => Columns: 4\\nOwner: ann\\nName: release\\nLabels: two\\nMembers: three\\nArchived: "
     "none so far\nmove_card {\"card\":\"{w}\",\"to\":\"done\"} => moved\n)"},
    {"a call that was refused works after it was asked anew", 0,
     "2*(\n! fetch_page {\"url\":\"https://a.example/{w}\"} => connect ECONNREFUSED\n! fetch_page "
     "{\"url\":\"https://a.example/{w}\"} => connect ECONNREFUSED\nfetch_page {\"url\":\"https://a.example/{w}\"} => "
     "<p>{w}</p>\n)"},
    {"two runs with the same input are compared for each case", 0,
     "9* run_twice {\"case\":\"{w}\"} => The same input gave the same output."},
    {"a test is run again after scripts of which nobody knows what they do", 0,
     "3*(\n! bash pytest -q => 1 failed: test_q\nbash python tools/fix_{w}.py => rewrote {n} lines\n)\nbash pytest -q "
     "=> 4 passed"},
};
#endif
