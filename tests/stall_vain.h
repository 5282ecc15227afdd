/* stall_vain.h - calls in vain, most of them as others have published them: edits that change nothing, commands that do
 * nothing. And work that looks much like it: above all, a state that is asked until it is another.
 */
#ifndef STALL_VAIN_H
#define STALL_VAIN_H
#include "stall_cases.h"

#define API(state)                                                                                                     \
    "service: api\\nversion: 1.4.2\\nregion: eu-west-1\\nreplicas: 3\\nendpoint: http://api:8080\\nhealth: " state "\n"
#define QUEUE                                                                                                          \
    "Queue: orders\\nConsumers: none\\nOldest message: invoice\\nDead letters: few\\nOwner: ann\\nPaused: "            \
    "no\\nRegion: "                                                                                                    \
    "eu-west\n"
#define OVEN                                                                                                           \
    "{\"device\":\"oven\",\"door\":\"closed\",\"light\":\"off\",\"mode\":\"bake\",\"target\":200,\"actual\":180,"      \
    "\"fan\":\"on\"}\n"
#define UNTOUCHED "No replacement was performed.\n"
#define CLUSTER                                                                                                        \
    "Cluster: web\\nNodes: 3 of 3\\nVersion: 1.29.4\\nRegion: eu-west\\nCapacity: 40 cores\\nReleased by: ann\\n"      \
    "Phase: PENDING_APPROVAL\n"

#define TOWNS                                                                                                          \
    "Welcome to the site of the towns in the north. Home, towns, people, shops, trains, news, contact. Choose a town " \
    "in the list to see how many people live there and who is the mayor: "

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
    /* openai/codex#6970 */
    {"done, and then nothing is done", 4,
     "shell cd /home/g/suite/front && git status --short => (no output)\n"
     "6* shell cd /home/g/suite/front && true => (no output)"},
    /* anthropics/claude-code#64218 */
    {"true, and ok, and alive", 3,
     "3* Bash true => (No output)\n4* Bash echo ok => ok\nBash echo \"test-$(whoami)\" => test-steve\n"
     "5* Bash echo alive => alive"},
    {"nothing is done in ever new words", 11, "14* bash echo \"marker {w}\" => marker {w}"},
    {"one file is edited in ever new words with dots in them", 4,
     "! 9* edit_file {\"path\":\"a.py\",\"old\":\"self.{w}\",\"new\":\"self._{w}\"} => No replacement was performed."},
    {"one edit each, and TAP says in every round that the same fails", 10,
     "9*(\nedit_file {\"path\":\"a.js\",\"old\":\"{i}\",\"new\":\"{n}\"} => edited\nbash tap => ok 1\\nnot ok 2\n)"},
    {"one edit each, and a failure stands before what is ok", 10,
     "9*(\nedit_file {\"path\":\"a.js\",\"old\":\"{i}\",\"new\":\"{n}\"} => edited\nbash ./t => failed=2 ok=3\n)"},
    /* what CrewAI says to a call that is made again */
    {"the framework says that it was asked before", 3,
     "jira_fetch_ticket {\"ticket_key\":\"SUP-1\"} => {\\n  \"key\": \"SUP-1\",\\n  \"summary\": \"Login issue\"\\n}\n"
     "6* jira_fetch_ticket {\"ticket_key\":\"SUP-1\"} => I tried reusing the same input, I must stop using this action "
     "input.\\nI'll try something else instead."},
    {"comments alone, true, and a way into a directory", 6,
     "bash ls => a.c\n2*(\nbash # It may be the key: xxd {w}.bin; (n > 3) =>\nbash true =>\nbash cd src && : =>\n)"},
    /* What failed as before stands between and puts off nothing. */
    {"a fix is refused, searches that had failed between", 12,
     "! 4* write_fix {\"lines\":\"{w}\"} => the fix has to change line 12\n"
     "read_file {\"path\":\"a.c\"} => int a(void) { return b(); }\n"
     "! search_code {\"q\":\"amber\"} => too much output, narrow your query\n"
     "! search_code {\"q\":\"basalt\"} => too much output, narrow your query\n"
     "! search_code {\"q\":\"amber\"} => too much output, narrow your query\n"
     "read_file {\"path\":\"b.c\"} => int b(void) { return c(); }\n"
     "! search_code {\"q\":\"basalt\"} => too much output, narrow your query\n"
     "read_file {\"path\":\"c.c\"} => int c(void) { return 4; }\n"
     "! 3* write_fix {\"lines\":\"{w} {n}\"} => the fix has to change line 12"},
    {"one file is not there in any range, and once another one", 9,
     "! 2* read_range {\"file\":\"src/main.java\",\"from\":33} => No such file or directory: src/main.java\n"
     "scribble {\"text\":\"look at another one\"} => noted for later on\n"
     "! read_range {\"file\":\"src/test.java\",\"from\":1} => No such file or directory: src/test.java\n"
     "! read_range {\"file\":\"src/main.java\",\"from\":1} => No such file or directory: src/main.java\n"
     "! list_parts {\"file\":\"src/main.java\"} => the list could not be made\n"
     "! read_range {\"file\":\"src/main.java\",\"from\":40} => No such file or directory: src/main.java\n"
     "! list_calls {\"file\":\"src/main.java\"} => no calls in it\n"
     "! read_range {\"file\":\"src/main.java\",\"from\":33} => No such file or directory: src/main.java"},
    {"one failure, and scripts of ever other names between", 20,
     "14*(\nbash ./try.sh {i} => tried\n! bash make => a.c:3: error: x\n)"},
};

static const stall_case stall_work_vain[] = {
    {"comments in turn with work, and five in a row", 0,
     "6*(\nbash # step {i}: look at {w} | sort =>\nbash cat {w}.c => int {w} = {n};\n)\n"
     "5* bash # nearly there, $x of {w} =>\nbash make => built\n6* bash # lines of {w}\\nwc -l {w}.c => {n} {w}.c"},
    {"comments are how somebody waits, and the shell says that nothing came", 0,
     "bash ./start.sh & =>\n8*(\nbash kubectl get pods => status: running\nbash # wait => (no output)\n)\n"
     "6*(\n! bash cat out.log => No such file: out.log\nbash # try {i}, {w} =>\n)\nbash cat out.log => ready"},
    {"values are set one after the other, each with a comment behind it", 0,
     "8* python {\"code\":\"x['{w}']={n}  # of {w}\"} =>\n8* bash # into {w}\\ncd {w} =>"},
    {"a shell is asked by what does nothing whether it is still at work", 0,
     "6* execute_bash # wait => [The previous command is still running]\nexecute_bash make => done\n"
     "6* execute_bash true => [The previous command is still running]\nexecute_bash make test => done"},
    {"headings are put into a document by a tool that nobody knows, and its parts are looked at", 0,
     "4*(\nget_page {} => a page of words\nget_index {} => an index of words\nget_notes {} => notes about them\n"
     "scribble {\"text\":\"# {w}\"} => ok\n)"},
    {"a fix is refused, and each search between fails for the first time", 0,
     "! 4* write_fix {\"lines\":\"{w}\"} => the fix has to change line 12\n"
     "read_file {\"path\":\"a.c\"} => int a(void) { return b(); }\n"
     "! 2* search_code {\"q\":\"{w}\"} => too much output, narrow your query\n"
     "read_file {\"path\":\"b.c\"} => int b(void) { return c(); }\n"
     "! 2* search_code {\"q\":\"{w} {n}\"} => too much output, narrow your query\n"
     "read_file {\"path\":\"c.c\"} => int c(void) { return 4; }\n"
     "! 3* write_fix {\"lines\":\"{w} {n}\"} => the fix has to change line 12\n"
     "write_fix {\"lines\":\"12\"} => written"},
    {"sources refuse one after the other, while a server is waited for", 0,
     "bash ./serve & =>\n6*(\n! fetch {\"url\":\"https://{w}.example/{n}\"} => 403 Forbidden\n"
     "! bash curl -s localhost:80/up => curl: (7) Failed to connect to localhost port 80: Connection refused\n"
     "fetch {\"url\":\"https://{w}.example/p{n}\"} => {w} and its {n} parts\n)"},
    {"sources refuse one after the other, others are not there, and each search finds more", 0,
     "6*(\nweb_search {\"q\":\"report {w}\"} => https://{w}.example/{n} a page about {w}\n"
     "! fetch {\"url\":\"https://{w}.example/{n}\"} => 403 Forbidden\n"
     "! fetch {\"url\":\"https://{w}.example/{n}/amp\"} => 404 Not Found\n)"},
    {"a build fails alike in five ways, its logs are read, and nothing changed in the tree", 0,
     "5*(\n! bash cmake -B b -DX={w} => CMake Error: could not find FOO\nbash git status --short =>\n"
     "bash tail -n 3 b/{w}.log => {w} {n} said\n)\nbash cmake -B b -DFOO=/opt => done"},
    {"three names are looked up in three rounds, something is done between", 0,
     "3*(\n! get_user {\"name\":\"amber\"} => no user amber\n! get_user {\"name\":\"basalt\"} => no user basalt\n"
     "! get_user {\"name\":\"cedar\"} => no user cedar\nscribble_{w} {\"n\":{n}} => {w} went well with {n}\n)"},
    {"one file is in none of five repositories, and another one is not either", 0,
     "! get_file {\"repo\":\"o/{w}\",\"path\":\"README.md\"} => the file README.md was not found\n"
     "! get_file {\"repo\":\"o/{w}\",\"path\":\"CHANGES.md\"} => the file CHANGES.md was not found\n"
     "! 5* get_file {\"repo\":\"o/{n}\",\"path\":\"README.md\"} => the file README.md was not found"},
    {"pages of one site, each behind a line without words", 0,
     "agent {\"target\":\"the page of the town amber in the list of towns in the north of the country\"} => .\\n\\n# "
     "amber\\n" TOWNS "3\n"
     "agent {\"target\":\"the page of basalt, a town that lies in the north of the country, too\"} => .\\n\\n# "
     "basalt\\n" TOWNS "5\n"
     "agent {\"target\":\"in the list of towns of the country, the third page, of cedar\"} => .\\n\\n# cedar\\n" TOWNS
     "8\n"
     "agent {\"target\":\"the page of the town delta, the newest in the list of them all\"} => .\\n\\n# delta\\n" TOWNS
     "9\n"
     "agent {\"target\":\"and the page of ember, the last of the towns in the list in the north\"} => .\\n\\n# "
     "ember\\n" TOWNS "11"},
    {"a setting goes to and fro, and each is measured", 0,
     "4*(\nedit_file {\"path\":\"app.yml\",\"old\":\"mode: a\",\"new\":\"mode: b\"} => edited\n"
     "bash ./measure.sh => 4{n} requests in a second\n"
     "edit_file {\"path\":\"app.yml\",\"old\":\"mode: b\",\"new\":\"mode: a\"} => edited\n"
     "bash ./measure.sh => 5{n} requests in a second\n)"},
    {"a setting goes to and fro, and what fails is another thing each time", 0,
     "4*(\nedit_file {\"path\":\"app.yml\",\"old\":\"mode: a\",\"new\":\"mode: b\"} => edited\n"
     "! bash ./probe.sh => no route to {w} in mode b\n"
     "edit_file {\"path\":\"app.yml\",\"old\":\"mode: b\",\"new\":\"mode: a\"} => edited\n"
     "! bash ./probe.sh => {w} is not open in mode a\n)"},
    {"a setting goes to and fro, and what was asked too often is asked again", 0,
     "2*(\nset_mode {\"mode\":\"dark\"} => ok\nscreenshot {\"name\":\"d{w}\"} => dark, contrast {n}, header {w}\n"
     "! web_search {\"q\":\"contrast\"} => 429 Too Many Requests, retry after 2 s\n"
     "set_mode {\"mode\":\"light\"} => ok\nscreenshot {\"name\":\"l{w}\"} => light, contrast {n}, header {w}\n)"},
    {"a search failed twice before a setting went to and fro", 0,
     "! 2* web_search {\"q\":\"abc\"} => timeout\n"
     "2*(\nset_mode {\"mode\":\"dark\"} => ok\nscreenshot {\"name\":\"d{w}\"} => dark, contrast {n}, header {w}\n"
     "set_mode {\"mode\":\"light\"} => ok\nscreenshot {\"name\":\"l{w}\"} => light, contrast {n}, header {w}\n)"},
    {"two settings are measured, and one of them fails alike", 0,
     "3*(\nedit_file {\"path\":\"app.yml\",\"old\":\"pool: 5\",\"new\":\"pool: 20\"} => edited\n"
     "bash ./bench.sh => 9{n} requests in a second\n! bash ./soak.sh => assertion: total 12.01, want 12.00\n"
     "edit_file {\"path\":\"app.yml\",\"old\":\"pool: 20\",\"new\":\"pool: 5\"} => edited\n"
     "bash ./bench.sh => 5{n} requests in a second\nbash ./soak.sh => all {n} rounds fine\n)"},
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
    /* What is asked until it is another. */
    {"a service is asked until it is healthy, and names its values", 0,
     "get_health {\"service\":\"api\"} => " API("starting") "11* get_health {\"service\":\"api\"} => " API(
         "degraded") "get_health {\"service\":\"api\"} => healthy"},
    {"a queue is asked until somebody reads it", 0, "9* get_queue_status {\"q\":\"orders\"} => " QUEUE},
    {"two services are asked in turn until both are up", 0,
     "deploy {\"app\":\"x\"} => deploy of x begun as revision 9\n"
     "5*(\nget_health {\"service\":\"api\"} => " API("cold") "get_health {\"service\":\"db\"} => " CLUSTER
                                                             ")\nget_health {\"service\":\"api\"} => healthy"},
    {"an oven gets hot, and names its door first", 0, "10* get_device_state {\"d\":\"oven\"} => " OVEN},
    {"a parcel is on its way", 0,
     "9* track_order {\"id\":9} => Order: 9\\nCarrier: DHL\\nPlaced: Monday\\nPacked: Tuesday\\nLast scan: Leipzig "
     "hub\\nNext scan: Berlin\\nExpected: Thursday\ntrack_order {\"id\":9} => delivered"},
    {"PowerShell sleeps between two looks", 0,
     "8*(\ncheck_health {\"service\":\"api\"} => " API("cold") "powershell Start-Sleep -Seconds 5 =>\n)"},
    {"cmd waits between two looks", 0,
     "8*(\ncheck_health {\"service\":\"api\"} => " API("cold") "cmd timeout /t 5 /nobreak =>\n)"},
    {"cmd waits by pings between two looks", 0,
     "8*(\ncheck_health {\"service\":\"api\"} => " API("cold") "cmd ping -n 6 127.0.0.1 >nul =>\n)"},
    /* Commands that wait, however they are written. */
    {"words of a command that waits", 0,
     "9* shell {\"command\":[\"ctl\",\"get\",\"--wait\",\"svc\"]} => nothing so far on node seven"},
    {"a quoted option to wait", 0, "9* shell {\"command\":\"ctl get '--wait' svc\"} => nothing so far on node seven"},
    {"a log is followed, with its last lines first", 0,
     "9* shell {\"command\":\"tail -n5 -f x.log\"} => nothing so far on node seven\n"
     "9* shell {\"command\":[\"tail\",\"-f\",\"y.log\"]} => nothing so far on node eight"},
    /* Echo that tells something, or is told to somebody else. */
    {"what a pattern stands for", 0,
     "8* bash echo {w}/*.py => {w}/a.py {w}/b.py\n8* bash echo ~{w} => /home/{w}\n8* bash echo {w}_[12] => {w}_1 "
     "{w}_2\n"
     "8* cmd echo !{w}! => C:/{w}"},
    {"one container after the other is ready", 0,
     "9* docker_exec {\"container\":\"{w}\",\"cmd\":\"echo ready\"} => ready"},
    {"one host after the other is there", 0, "9* ssh {\"host\":\"{w}\",\"command\":\"true\"} =>"},
    {"nine headings, and then the work", 0, "9* bash echo '--- {w} ---' => --- {w} ---\nbash make => done"},
    {"headings, and then the report", 0, "7* bash printf '## {w}' => ## {w}\nbash cat report.md => # all"},
    {"an approval is waited for", 0,
     "3* bash echo \"Waiting for approval...\" => Waiting for approval...\nask_user {\"q\":\"ok?\"} => yes"},
    /* Edits of many files. */
    {"a version in each of many files", 0,
     "! 9* replace_in_file {\"file\":\"pkgs/{w}/package.json\",\"from\":\"1.2.3\",\"to\":\"1.2.4\"} => " UNTOUCHED
     "replace_in_file {\"file\":\"pkgs/main/package.json\",\"from\":\"1.2.3\",\"to\":\"1.2.4\"} => edited"},
    {"files without a dot, or with a blank", 0,
     "! 9* edit_file {\"file_path\":\"docs {w}\",\"old_string\":\"a\",\"new_string\":\"b\"} => " UNTOUCHED
     "edit_file {\"file_path\":\"README\",\"old_string\":\"a\",\"new_string\":\"b\"} => edited"},
    {"two texts in each of a few files", 0,
     "5*(\n! edit_file {\"path\":\"src/{w}.py\",\"old\":\"import six\",\"new\":\"\"} => " UNTOUCHED
     "! edit_file {\"path\":\"src/{w}.py\",\"old\":\"six.moves\",\"new\":\"builtins\"} => " UNTOUCHED ")"},
    {"one text in eleven documents that are known by their addresses", 0,
     "! 11* replace_text {\"uri\":\"file:///w/{w}.md\",\"old\":\"teh\",\"new\":\"the\"} => No match"},
    {"one text in eleven modules", 0,
     "! 11* replace_text {\"module\":\"pkg/{w}.ts\",\"old\":\"teh\",\"new\":\"the\"} => No match"},
    {"a run that goes on, in an envelope of MCP", 0,
     "9* get_run {\"id\":4} => {\"content\":[{\"type\":\"text\",\"text\":\"running\"}]}"},
    {"a deployment is looked at between waits", 0,
     "9*(\nbash fly status => Deployment 12 of web: pending\nbash sleep 30 =>\n)"},
    {"a file that is waited for fails without a word", 0, "! 8* wait_for_file {\"path\":\"/tmp/done\"} =>"},
    {"an alert stays, and what is read between goes on", 0,
     "get_log {\"n\":\"io\"} => {w} said {w} to {n}\n3*(\nget_log {\"n\":\"io\"} => {w} said {w} to {n}\n2* "
     "list_alerts "
     "{} => one alert: disk of node seven is at the mark\n)\nget_log {\"n\":\"io\"} => {w} said {w} to {n}"},
    /* Runs that are fine. */
    {"a model is tuned, and says how far off it is", 0,
     "9*(\nedit_file {\"path\":\"m.py\",\"old\":\"lr={i}\",\"new\":\"lr={n}\"} => edited\nbash python m.py => epoch "
     "3\\nerror: 0.35\n)"},
    {"pauses that are cut short while a job goes on", 0,
     "4*(\nget_job {\"id\":77} => {\"job\":\"77\",\"state\":\"RUNNING\"}\n"
     "! wait {\"seconds\":60} => wait interrupted after 10 s: message arrived\n)\n"
     "get_job {\"id\":77} => {\"job\":\"77\",\"state\":\"DONE\"}"},
    {"the third repair of a shell is the right one", 0,
     "! bash npm install => npm ERR! ERESOLVE unable to resolve dependency tree\nbash source .env =>\n"
     "! bash npm install => npm ERR! ERESOLVE unable to resolve dependency tree\nbash export PATH=/opt/bin:$PATH =>\n"
     "! bash npm install => npm ERR! ERESOLVE unable to resolve dependency tree\nbash kill 4123 =>\n"
     "bash npm install => ok"},
    {"workers of one kind, each with its number", 0,
     "5* create_worker {\"type\":\"gpu\",\"size\":\"l\"} => {\"id\":{n},\"state\":\"starting\"}"},
    {"chapters are written, and the checks of another run are asked for between", 0,
     "8*(\nwrite_file {\"path\":\"{w}.md\",\"content\":\"on {w}\"} => written\n"
     "ci_status {\"run\":5} => 1 failed, 7 passed, 12 running\n)"},
};
#endif
