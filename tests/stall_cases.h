/* stall_cases.h - runs of agents that work, and of agents that go in circles, in the words of many trades. */
#ifndef STALL_CASES_H
#define STALL_CASES_H

typedef struct stall_case {
    const char *name;
    unsigned earliest; /* of a circle: the first step that could be spoken at; two steps later is late. 0: it is work */
    const char *steps;
} stall_case;

static const stall_case stall_work[] = {
    {"different papers are read", 0, "12* open_pdf {\"file\":\"p{i}.pdf\"} => Title {w}, volume {n}"},
    {"fewer tests fail after each patch", 0,
     "6*(\napply_patch {\"diff\":\"-a{i} +b{n}\"} => Done\n! run_tests {} => {n} tests failed\n)"},
    {"a test fails the same way while other things are tried", 0,
     "5*(\nreplace_in_file {\"path\":\"q.go\",\"find\":\"{w}\",\"with\":\"{w}2\"} => ok\n! shell go test ./... => --- "
     "FAIL: TestQ\n)"},
    {"a cell is edited and run until it works", 0,
     "4*(\nedit_cell {\"cell\":3,\"source\":\"x = f({n})\"} => cell updated\n! run_cell {\"cell\":3} => ValueError: "
     "bad shape\n)\n"
     "edit_cell {\"cell\":3,\"source\":\"y\"} => cell updated\nrun_cell {\"cell\":3} => 42"},
    {"a deployment is awaited", 0,
     "9* get_deployment {\"id\":\"d-7\"} => {\"id\":\"d-7\",\"status\":\"IN_PROGRESS\"}\n"
     "get_deployment {\"id\":\"d-7\"} => {\"id\":\"d-7\",\"status\":\"READY\"}"},
    {"a payment is pending", 0,
     "8* payment_status {\"ref\":\"P1\"} => PENDING\npayment_status {\"ref\":\"P1\"} => PAID"},
    {"a rendering goes on", 0, "10* render_progress {\"scene\":4} => frame {n}/240"},
    {"a parcel is on its way", 0, "7* track_parcel {\"no\":\"77\"} => In transit, Leipzig hub"},
    {"pods become ready", 0,
     "7* bash kubectl get pods -l app=web => web-0   0/1   ContainerCreating   0\nbash kubectl get pods -l app=web => "
     "web-0 1/1 Running 0"},
    {"an instance boots, with naps", 0,
     "6*(\nsleep {\"seconds\":20} => \ndescribe_instance {\"id\":\"i-1\"} => {\"state\":\"booting\"}\n)\n"
     "describe_instance {\"id\":\"i-1\"} => {\"state\":\"up\"}"},
    {"a port is awaited in the shell", 0,
     "! 6* bash sleep 3; nc -z localhost 5432 => \nbash sleep 3; nc -z localhost 5432 => open"},
    {"a file is awaited in the shell", 0,
     "! 7* bash sleep 5 && ls out/report.bin => ls: cannot access 'out/report.bin': No such file or directory"},
    {"a server that starts refuses connections", 0,
     "! 6* bash curl -s localhost:3000/ready => curl: (7) Failed to connect to localhost port 3000: Connection "
     "refused\n"
     "bash curl -s localhost:3000/ready => ok"},
    {"a service is unavailable for a while", 0,
     "! 6* get_orders {\"day\":3} => HTTP 503 Service Unavailable\nget_orders {\"day\":3} => 17 orders"},
    {"a database is locked for a while", 0,
     "! 5* sqlite insert into t values (1) => Error: database is locked\nsqlite insert into t values (1) => "},
    {"it is told to slow down", 0,
     "! 5* translate {\"text\":\"hello\"} => {\"error\":\"rate limit exceeded, retry after 3 s\"}\ntranslate "
     "{\"text\":\"hello\"} => hallo"},
    {"an element comes late", 0,
     "! 4* wait_for_selector {\"selector\":\"#pay\",\"timeout\":5000} => TimeoutError: Timeout 5000ms exceeded\n"
     "wait_for_selector {\"selector\":\"#pay\",\"timeout\":5000} => visible"},
    {"a flaky test is run again", 0,
     "! 3* bash npx vitest run socket => 1 failed | 14 passed\nbash npx vitest run socket => 15 passed"},
    {"a process writes now and then", 0,
     "4* read_process {\"id\":2,\"yield_time_ms\":5000} => \nread_process {\"id\":2,\"yield_time_ms\":5000} => "
     "Compiling a\n"
     "5* read_process {\"id\":2,\"yield_time_ms\":5000} => \nread_process {\"id\":2,\"yield_time_ms\":5000} => "
     "Finished"},
    {"pages behind a cursor", 0, "9* list_customers {\"cursor\":\"{u}\"} => 50 customers from {w}"},
    {"pages behind a handle", 0, "9* read_result {\"handle\":5} => rows {n} to {n}9: {w}"},
    {"pages one by one", 0, "8* next_page {} => page {i}: {w} and {w}s"},
    {"tasks out of a queue", 0, "8* take_task {} => {\"task\":\"{w}\"}"},
    {"a dungeon", 0, "9* go {\"direction\":\"north\"} => You are in the {w} room."},
    {"keys are pressed", 0, "8* press_key {\"key\":\"ArrowDown\"} => ok"},
    {"a carousel is clicked through", 0, "7* click {\"selector\":\".next\"} => clicked"},
    {"a coin is thrown", 0,
     "3* flip_coin {} => heads\nflip_coin {} => tails\n4* flip_coin {} => heads\n2* flip_coin {} => tails\nflip_coin "
     "{} => heads"},
    {"numbers are drawn", 0,
     "2* random_int {\"max\":3} => 2\nrandom_int {\"max\":3} => 1\n3* random_int {\"max\":3} => 2"},
    {"a counter in a session", 0, "8* python_repl {\"code\":\"x += 1; x\"} => {i}"},
    {"staging before each commit", 0, "6*(\nbash git add -A => \nbash git commit -m '{w}' => [main {n}] {w}\n)"},
    {"the same login before each export", 0,
     "5*(\nlogin {\"user\":\"ops\"} => ok\nexport_report {\"month\":{i}} => wrote {w}.csv\n)"},
    {"the same template for each letter", 0,
     "6*(\nget_template {\"name\":\"reminder\"} => Dear {{name}}, your invoice is due.\nsend_letter {\"to\":\"{w}\"} "
     "=> sent\n)"},
    {"the same rate for each conversion", 0,
     "6*(\nget_rate {\"pair\":\"EURUSD\"} => 1.0823 (fixed)\nbook_conversion {\"amount\":{n}} => booked {n}\n)"},
    {"one text to many people", 0,
     "10* send_sms {\"to\":\"+49151{n}\",\"text\":\"We open at 9\"} => {\"status\":\"sent\"}"},
    {"many are invited", 0, "9* invite_member {\"email\":\"{w}@example.com\"} => invitation sent"},
    {"files are deleted", 0, "9* delete_file {\"path\":\"tmp/{w}\"} => deleted"},
    {"rows are appended", 0, "9* append_row {\"sheet\":\"Log\",\"values\":[\"{w}\",{n}]} => {\"updatedRows\":1}"},
    {"records are inserted", 0, "9* create_record {\"name\":\"{w}\"} => {\"ok\":true}"},
    {"parts are uploaded", 0, "9* upload_part {\"part\":{i},\"data\":\"{u}\"} => {\"ok\":true}"},
    {"nobody of a list is known", 0, "8* search_people {\"name\":\"{w}\"} => No results found."},
    {"nobody of a list is known, as a failure", 0, "! 8* get_person {\"name\":\"{w}\"} => person not found"},
    {"links are checked", 0, "! 8* http_head {\"url\":\"https://{w}.example/a\"} => 404 Not Found"},
    {"names that nobody registered", 0, "! 8* resolve_host {\"host\":\"{w}.example\"} => NXDOMAIN"},
    {"ids without an order", 0, "8* find_order {\"id\":{n}} => []"},
    {"days without an appointment", 0,
     "7* list_events {\"start\":\"2026-06-0{i}\",\"end\":\"2026-06-0{i}\"} => no events"},
    {"a mailbox is looked into every hour", 0,
     "8* fetch_mail {\"since\":\"2026-06-01T0{i}:00:00Z\"} => 0 new messages"},
    {"the same check of each row", 0, "10* validate_row {\"row\":{i}} => valid"},
    {"the same check of each file", 0, "8* lint_file {\"path\":\"src/{w}.ts\"} => No problems found in this file."},
    {"tickets of one sort", 0, "8* classify_ticket {\"text\":\"my {w} arrived broken\"} => category: returns"},
    {"a number is guessed", 0, "6* guess_number {\"n\":{n}} => too low\nguess_number {\"n\":50} => too high"},
    {"measurements of a sensor", 0,
     "2* read_sensor {\"id\":\"t1\"} => 21.5 C\nread_sensor {\"id\":\"t1\"} => 21.6 C\n3* read_sensor {\"id\":\"t1\"} "
     "=> 21.5 C\n"
     "read_sensor {\"id\":\"t1\"} => 21.4 C"},
    {"a benchmark is run five times", 0, "6* run_benchmark {\"name\":\"sort\"} => {\"ok\":true,\"elapsed_ms\":81{i}}"},
    {"a command is timed", 0, "6* bash time ./sort big.txt => real 0m1.2{i}4s"},
    {"latency is measured", 0, "6* ping_host {\"host\":\"db\"} => 64 bytes, time=0.{n} ms"},
    {"a parameter is swept", 0, "9* simulate {\"theta\":0.{i}} => energy=-1.{n}"},
    {"thoughts", 0, "8* think {\"thought\":\"maybe the {w} is wrong\"} => Thought noted."},
    {"a plan is kept", 0, "7* update_plan {\"done\":{i},\"next\":\"{w}\"} => Plan updated"},
    {"a book is written chapter by chapter", 0, "9* append_text {\"doc\":\"b\",\"text\":\"Chapter {i}: {w}\"} => ok"},
    {"a robot is steered", 0, "9* drive {\"forward\":1} => x={i} y=0"},
    {"a heater is controlled", 0, "8*(\nset_heater {\"power\":{n}} => ok\nread_temperature {} => {n}.5\n)"},
    {"a page is styled", 0, "6*(\nedit_css {\"rule\":\"a{i}\"} => saved\nscreenshot {} => image {u}\n)"},
    {"the whole list is looked at after each change", 0,
     "7*(\nadd_item {\"name\":\"{w}\"} => added\nlist_items {} => {n} items, newest {w}\n)"},
    {"a plan is read again between pieces of work", 0,
     "4*(\nread_file {\"path\":\"plan.md\"} => 1. parser 2. lexer 3. printer of trees\nwrite_file "
     "{\"path\":\"{w}.c\",\"content\":\"{w}\"} => written\n)"},
    {"a reference is looked up now and then", 0,
     "3*(\nread_file {\"path\":\"README\"} => how this house is built, in short\nread_file {\"path\":\"{w}1\"} => {w} "
     "one\n"
     "read_file {\"path\":\"{w}2\"} => {w} two\nread_file {\"path\":\"{w}3\"} => {w} three\n)"},
    {"a token expires twice", 0,
     "2*(\n! call_api {\"path\":\"/a\"} => 401 token expired\nrefresh_token {} => ok\ncall_api {\"path\":\"/a\"} => 12 "
     "rows\n"
     "call_api {\"path\":\"/b\"} => 7 rows\n)"},
    {"errors move down a file", 0,
     "5*(\n! bash tsc => a.ts({n},1): error TS2304\nedit {\"file\":\"a.ts\",\"old\":\"{w}\",\"new\":\"{w}s\"} => "
     "edited a.ts\n)"},
    {"three ways to a compiler", 0,
     "! bash gcc --version => gcc: not found (exit 127)\n! bash clang --version => clang: not found (exit 127)\n"
     "! bash tcc -v => tcc: not found (exit 127)\nbash cc --version => cc 12"},
    {"missing arguments are found out one by one", 0, "! 6* create_event {\"n\":{i}} => missing field `{w}`"},
    {"a hypothesis is bisected", 0,
     "5*(\nbash git bisect good => Bisecting: {n} revisions left\nbash git bisect bad => Bisecting: {n}1 revisions "
     "left\n)"},
    {"the indent of a line is put right", 0,
     "edit {\"old\":\"x=1\",\"new\":\" x=1\"} => ok\nedit {\"old\":\" x=1\",\"new\":\"  x=1\"} => ok\n"
     "edit {\"old\":\"  x=1\",\"new\":\"    x=1\"} => ok\nedit {\"old\":\"    x=1\",\"new\":\"\\tx=1\"} => ok"},
    {"questions to the user get different answers", 0, "6* ask_user {\"question\":\"which {w}?\"} => the {w} one"},
    {"a long build is asked after in the shell", 0,
     "8* bash sleep 30; tail -n 1 build.log => [ 41%] Building CXX object"},
    {"lights of a house", 0,
     "turn_on {\"light\":\"hall\"} => on\nturn_off {\"light\":\"hall\"} => off\nturn_on {\"light\":\"hall\"} => "
     "on\nturn_off {\"light\":\"hall\"} => off"},
    {"the model explains itself", 0,
     "say I will look at {w}.\nsay Now the tests.\nsay Done: all of it works.\nsay Anything else?"},
    {"compaction helps", 0,
     "5*(\nread_file {\"path\":\"{w}1\"} => text one of {w}\nread_file {\"path\":\"{w}2\"} => text two of {w}\n"
     "read_file {\"path\":\"{w}3\"} => text three of {w}\n__compaction__ {} => compacted\n)"},
    {"a status of numbers", 0, "7* queue_status {\"q\":\"mail\"} => 3 jobs ahead of yours, estimated 4 minutes"},
    {"an export in JSON is prepared", 0, "9* get_export {\"id\":3} => {\"id\":3,\"state\":\"queued\",\"rows\":null}"},
    {"a ready flag", 0, "8* check_ready {\"env\":\"qa\"} => {\"ready\":false}"},
    {"a battery charges", 0, "8* get_charge {} => {\"percent\":4{i},\"state\":\"charging\"}"},
    {"nothing new in a chat", 0, "8* read_messages {\"channel\":\"ops\"} => no new messages"},
    {"an auction is watched", 0,
     "6* get_bid {\"lot\":4} => current bid 120 EUR, still open\nget_bid {\"lot\":4} => sold for 130 EUR"},
    {"a subagent works", 0,
     "8* check_agent {\"id\":\"a1\"} => {\"status\":\"working\",\"messages\":0}\n"
     "check_agent {\"id\":\"a1\"} => {\"status\":\"done\"}"},
    {"a wait without an end in sight", 0, "9* wait {\"seconds\":30} => done\nlist_alerts {} => none"},
    {"waits between looks that differ", 0,
     "6*(\nwait {\"seconds\":30} => Waited 30 seconds\nread_gauge {\"id\":2} => {n} bar\n)"},
    {"sleep commands between looks", 0, "6*(\nbash sleep 20 => \nbash tail -n 1 train.log => epoch {i} loss 0.{n}\n)"},
    {"a cluster scales, slowly", 0,
     "! 6* bash sleep 15 && kubectl rollout status deploy/web --timeout=5s => error: timed out waiting for"
     " the condition"},
    {"a download goes on where it broke", 0,
     "! 4* download {\"url\":\"https://a/b.iso\"} => connection reset at {n} MB\n"
     "download {\"url\":\"https://a/b.iso\"} => saved"},
    {"many greetings", 0, "9* post_comment {\"issue\":{n},\"body\":\"Thanks, closing.\"} => comment posted"},
    {"many labels", 0, "9* add_label {\"issue\":{n},\"label\":\"stale\"} => {\"ok\":true}"},
    {"accounts that are all fine", 0, "9* check_account {\"id\":{n}} => Account is in good standing."},
    {"one word of each text", 0, "8* sentiment {\"text\":\"the {w} was lovely\"} => positive"},
    {"translations that happen to be alike", 0,
     "4* translate {\"text\":\"{w}!\",\"to\":\"de\"} => Achtung!\ntranslate {\"text\":\"fire\"} => Feuer"},
    {"units of a course are marked", 0, "8* mark_complete {\"unit\":{i}} => Unit marked as complete."},
    {"seats are tried one by one", 0, "! 7* reserve_seat {\"seat\":\"{i}A\"} => seat {i}A is taken"},
    {"user names are tried", 0, "! 6* register_user {\"name\":\"{w}\"} => user name '{w}' already exists"},
    {"combinations of a lock", 0, "9* try_code {\"code\":\"{n}{i}\"} => wrong code"},
    {"rooms without a free hour", 0, "7* check_room {\"room\":\"R{i}\",\"date\":\"2026-03-01\"} => not available"},
    {"drugs without an interaction", 0,
     "7* check_interaction {\"a\":\"warfarin\",\"b\":\"{w}\"} => No known interaction."},
    {"books out of print", 0,
     "! 7* order_book {\"isbn\":\"97800{n}\"} => {\"error\":\"out of print\",\"isbn\":\"97800{n}\"}"},
    {"a column for each table", 0, "8* bash psql -c 'alter table {w} add column v int' => ALTER TABLE"},
    {"objects of a bucket", 0, "9* s3_get {\"key\":\"2026/0{i}.json\"} => {\"key\":\"2026/0{i}.json\",\"size\":{n}}"},
    {"a patch, a build, the same warning", 0,
     "5*(\nwrite_file {\"path\":\"{w}.rs\",\"content\":\"fn {w}() {}\"} => wrote\n"
     "bash cargo build => warning: unused import\n)"},
    {"renames and a green test", 0,
     "6*(\nrename_symbol {\"from\":\"{w}\",\"to\":\"{w}2\"} => renamed 3 places\n"
     "run_tests {} => 12 passed\n)"},
    {"migrations and a count", 0, "6*(\nrun_migration {\"n\":{i}} => applied\ncount_rows {\"table\":\"t\"} => 5120\n)"},
    {"mails are filed", 0, "6*(\nget_next_mail {} => mail from {w}\nmove_mail {\"to\":\"archive\"} => moved\n)"},
    {"a form is filled in", 0,
     "type_text {\"field\":\"name\",\"text\":\"Ada\"} => ok\npress_key {\"key\":\"Tab\"} => ok\n"
     "type_text {\"field\":\"city\",\"text\":\"Rome\"} => ok\npress_key {\"key\":\"Tab\"} => ok\n"
     "type_text {\"field\":\"zip\",\"text\":\"00100\"} => ok\npress_key {\"key\":\"Tab\"} => ok\n"
     "press_key {\"key\":\"Tab\"} => ok\npress_key {\"key\":\"Enter\"} => submitted"},
    {"chess", 0, "6*(\nget_board {} => board after {n} moves {w}\nmake_move {\"uci\":\"e{i}e4\"} => ok\n)"},
    {"a maze with walls", 0,
     "go {\"d\":\"n\"} => wall\ngo {\"d\":\"e\"} => corridor\ngo {\"d\":\"n\"} => wall\n"
     "go {\"d\":\"e\"} => corridor 2\ngo {\"d\":\"n\"} => door\ngo {\"d\":\"n\"} => hall"},
    {"zooming", 0, "6* zoom_in {} => level {i}"},
    {"undo several times", 0, "6* undo {} => undone"},
    {"random names", 0, "4* random_name {} => Kim\nrandom_name {} => Lee\n2* random_name {} => Kim"},
    {"a lottery", 0, "6* draw_card {} => {w} of spades"},
    {"sampling a model", 0, "6* sample {\"temperature\":1} => text number {n} of {w}"},
    {"image variants", 0, "6* generate_image {\"prompt\":\"a cat\"} => {\"url\":\"https://i/{u}.png\"}"},
    {"new ids", 0, "6* new_uuid {} => {u}"},
    {"clock", 0, "6* get_time {} => 2026-01-01T10:0{i}:00Z"},
    {"a time series", 0, "6* get_price {\"s\":\"ACME\"} => {\"price\":101.{n},\"timestamp\":{t}}"},
    {"runs that were asked for", 0, "5* bash pytest -q => 12 passed in 1.{n}s"},
    {"a load test in steps", 0, "6* load_test {\"users\":{n}00} => p95 21{i} ms"},
    {"hyperfine", 0, "5* bash hyperfine ./a.out => Time (mean): 1.{n} s"},
    {"a speed test", 0, "5* speed_test {} => {\"down_mbps\":9{i}.1,\"latency_ms\":12}"},
    {"learning rates", 0, "7* fit {\"lr\":0.0{n}} => loss 0.4{i}"},
    {"search widens", 0,
     "search {\"q\":\"blue whale diet\"} => 3 papers on krill\n"
     "search {\"q\":\"whale diet krill antarctic\"} => 5 papers of the south\n"
     "search {\"q\":\"krill population\"} => counts since 1990\n"
     "search {\"q\":\"krill population decline\"} => 7 papers about ice"},
    {"a pipeline grows", 0,
     "bash cat log => many lines of text\nbash cat log | grep ERR => some lines of text\n"
     "bash cat log | grep ERR | sort => sorted lines here\n"
     "bash cat log | grep ERR | sort | uniq -c => 4 x, 3 y\n"
     "bash cat log | grep ERR | sort | uniq -c | head => 4 x"},
    {"a limit is raised", 0,
     "list_logs {\"limit\":10} => 10 entries up to noon\n"
     "list_logs {\"limit\":20} => 20 entries up to one\n"
     "list_logs {\"limit\":40} => 40 entries up to three\nlist_logs {\"limit\":80} => 80 entries up to six"},
    {"a document is written longer and longer", 0, "6* save_document {\"id\":1,\"text\":\"{x}\"} => saved"},
    {"walking up", 0, "bash ls .. => b c\nbash ls ../.. => d e\nbash ls ../../.. => f g\nbash ls ../../../.. => h"},
    {"tries with other credentials", 0,
     "! login {\"user\":\"a\"} => invalid password\n! login {\"user\":\"b\"} => invalid password\n"
     "! login {\"user\":\"c\"} => invalid password\nlogin {\"user\":\"d\"} => welcome"},
    {"context switches", 0,
     "4*(\nuse_context {\"name\":\"prod\"} => switched\nlist_pods {\"n\":{i}} => pods of prod, round {i}\n"
     "use_context {\"name\":\"test\"} => switched\nlist_pods {\"n\":{i}} => pods of test, round {i}\n)"},
    {"a house keeps its temperature", 0, "6*(\nset_valve {\"open\":{n}} => ok\nget_flow {} => 4.{n} l/min\n)"},
    {"a dialogue", 0, "6*(\nsay What about {w}?\nlookup {\"w\":\"{w}\"} => about {w}: {n}\n)"},
    {"health of a service, on a schedule", 0, "8* health_check {\"svc\":\"api\"} => {\"status\":\"healthy\"}"},
    {"a document is approved by many", 0, "7* request_review {\"from\":\"{w}\"} => review requested"},
    {"the weather of cities", 0, "7* get_weather {\"city\":\"{w}\"} => {\"temp\":{n},\"sky\":\"clear\"}"},
    {"the same checksum tool for many files", 0, "7* checksum {\"file\":\"{w}\"} => {u}"},
    {"invoices are paid", 0, "7* pay_invoice {\"id\":{n}} => payment accepted"},
    {"steps of a recipe", 0, "7* next_step {} => step {i}: add the {w}"},
    {"git status between edits", 0,
     "4*(\nedit_file {\"path\":\"{w}\",\"old\":\"a\",\"new\":\"{n}\"} => edited\n"
     "bash git status -s =>  M src\n)"},
    {"tests between edits fail in turn", 0,
     "4*(\nedit_file {\"path\":\"a\",\"old\":\"{n}\",\"new\":\"{w}\"} => edited\n"
     "! bash npm test => 2 failed: a, b\nread_file {\"path\":\"log\"} => the same old log of that\n)"},
    {"an approval is awaited", 0,
     "8* check_approval {\"id\":1} => awaiting approval from the manager\ncheck_approval {\"id\":1} => approved"},
    {"an oven gets hot", 0, "7* read_oven {} => preheating\nread_oven {} => 200 C"},
    {"slots are tried one by one", 0, "! 7* book_slot {\"hour\":{n}} => slot unavailable"},
    {"a job behind HTTP", 0, "7* http_get {\"url\":\"https://x.example/jobs/4\"} => 202 Accepted"},
    {"bids", 0, "7* place_bid {\"lot\":1,\"eur\":{n}} => outbid"},
    {"tabs in turn", 0,
     "4*(\nswitch_tab {\"n\":1} => tab 1 active\ncopy_cell {\"c\":\"A{i}\"} => copied {n}\nswitch_tab {\"n\":2} => tab "
     "2 "
     "active\npaste_cell {\"c\":\"B{i}\"} => pasted\n)"},
    {"a pod that crashes is mended", 0,
     "4*(\nkubectl_apply {\"manifest\":\"v{i}\"} => configured\nget_pods {} => web-0 CrashLoopBackOff\n)"},
    {"a reply is awaited", 0,
     "6* wait_for_reply {\"thread\":\"t\"} => no reply yet\nwait_for_reply {\"thread\":\"t\"} => yes"},
    {"documents are embedded", 0, "8* embed_document {\"id\":{n}} => {\"status\":\"embedded\",\"dim\":1536}"},
    {"signatures that are all good", 0,
     "8* verify_signature {\"file\":\"{w}.sig\"} => Signature is valid and trusted by the keyring."},
    {"members of a batch that recombine a few words", 0,
     "12*(\nlint {\"path\":\"src/core/user{i}.ts\"} => no issues found\nlint {\"path\":\"src/ui/user{i}.ts\"} => no "
     "issues found\nlint {\"path\":\"src/db/order{i}.ts\"} => no issues found\n)"},
    {"modules that all pass", 0,
     "inspect_part {\"name\":\"left front door\"} => done\ninspect_part {\"name\":\"left rear door\"} => done\n"
     "inspect_part {\"name\":\"right front door\"} => done\ninspect_part {\"name\":\"right rear door\"} => done\n"
     "inspect_part {\"name\":\"left front wheel\"} => done\ninspect_part {\"name\":\"left rear wheel\"} => done\n"
     "inspect_part {\"name\":\"right front wheel\"} => done\ninspect_part {\"name\":\"right rear wheel\"} => done"},
    {"people looked up by two names", 0,
     "find_guest {\"name\":\"Ada Hill\"} => no results found\nfind_guest {\"name\":\"Ben Hill\"} => no results found\n"
     "find_guest {\"name\":\"Cleo Hill\"} => no results found\nfind_guest {\"name\":\"Ada Moor\"} => no results found\n"
     "find_guest {\"name\":\"Ben Moor\"} => no results found\nfind_guest {\"name\":\"Cleo Moor\"} => no results found\n"
     "find_guest {\"name\":\"Ada Dale\"} => no results found\nfind_guest {\"name\":\"Ben Dale\"} => no results found"},
    {"bread in an oven, done to so many percent", 0, "9* wait_for_oven {\"id\":2} => {n} % done"},
    {"tiles that are completed one by one", 0, "9* render_status {\"id\":2} => completed {n} of 100 tiles"},
    {"a state that says completed, and a count that moves", 0,
     "9* backup_status {\"id\":2} => {\"status\":\"completed\",\"percent\":{n}}"},
    {"fewer and fewer tests fail, for long", 0,
     "16*(\nedit_file {\"path\":\"r.rb\",\"old\":\"{n}\",\"new\":\"{w}{n}\"} => ok\n! run_tests {} => {n} of 140 "
     "failed\n)"},
    {"slides of a talk", 0, "9* send_keys {\"keys\":\"PageDown\"} => Slide {i}"},
    {"lines of a pager", 0, "9* submit_key {\"key\":\"n\"} => Message {n} of 80"},
    {"a package manager is held by another", 0,
     "! 8* install_package {\"name\":\"vim\"} => could not get lock: held by process 4711\n"
     "install_package {\"name\":\"vim\"} => installed"},
    {"a switch that is being configured", 0,
     "! 8* set_vlan {\"port\":3,\"vlan\":9} => another operation is in progress on this device\n"
     "set_vlan {\"port\":3,\"vlan\":9} => saved"},
    {"songs are added and committed, and nothing is left over", 0,
     "9*(\nstudio {\"do\":\"add {w} track\"} => \nstudio {\"do\":\"commit {w} track\"} => \n"
     "studio {\"do\":\"status\"} => \n)"},
    {"four servers, their answers to a clock", 0,
     "4*(\nping_host {\"h\":\"a\"} => {n} ms\nping_host {\"h\":\"b\"} => 1{n} ms\nping_host {\"h\":\"c\"} => 2{n} ms\n"
     "ping_host {\"h\":\"d\"} => 3{n} ms\n)"},
    {"an order that is looked up while the shop is slow", 0,
     "! 4* order_history {\"id\":4} => 504 Gateway Timeout\norder_history {\"id\":4} => 3 orders"},
    {"a longer and longer wait for what still runs", 0, "9* wait_for_process {\"id\":4,\"timeout_ms\":{n}000} => "},
    {"the volume goes up and up", 0, "9* set_volume {\"level\":{i}} => ok"},
};

static const stall_case stall_loops[] = {
    {"the same invoice", 3,
     "9* get_invoice {\"id\":\"A-3\"} => {\"id\":\"A-3\",\"total\":120.5,\"currency\":\"EUR\",\"lines\":4}"},
    {"the same broken query", 3, "! 9* sql_query {\"query\":\"SELEC 1\"} => ERROR: syntax error at or near \"SELEC\""},
    {"the same missing page", 3, "! 9* open_page {\"title\":\"Foo\"} => page does not exist"},
    {"the same mail to the same man", 3, "9* send_email {\"to\":\"a@b.c\",\"subject\":\"Hi\"} => sent"},
    {"the same delegation", 3,
     "! 9* delegate {\"to\":\"researcher\",\"task\":\"find x\"} => agent failed: out of credits"},
    {"key order and spelling of numbers", 3,
     "3*(\nquote {\"qty\":1,\"sku\":\"A\",\"opt\":{\"a\":1,\"b\":2}} => list price 4.20 per piece, in stock\n"
     "quote { \"sku\" : \"A\", \"opt\":{\"b\":2.0,\"a\":1}, \"qty\":1.0 } => list price 4.20 per piece, in stock\n)"},
    {"spelling of a path", 3,
     "list_files {\"dir\":\"/srv/app\"} => main.rb and config.ru\nlist_files {\"dir\":\"/srv/./app\"} => main.rb and "
     "config.ru\n"
     "list_files {\"dir\":\"/srv/lib/../app/\"} => main.rb and config.ru\nlist_files {\"dir\":\"/srv//app\"} => "
     "main.rb and config.ru\n"
     "list_files {\"dir\":\"/srv/app//\"} => main.rb and config.ru"},
    {"spacing of a command", 3,
     "! bash cat  notes.txt => cat: notes.txt: No such file\n! bash cat ./notes.txt => cat: notes.txt: No such file\n"
     "! bash  cat notes.txt  => cat: notes.txt: No such file\n! bash cat notes.txt => cat: notes.txt: No such file"},
    {"order of words to look for", 3,
     "search_docs {\"q\":\"invoice late fee\"} => 2 articles: dunning levels; payment terms\n"
     "search_docs {\"q\":\"late fee invoice\"} => 2 articles: dunning levels; payment terms\n"
     "search_docs {\"q\":\"fee, late invoice\"} => 2 articles: dunning levels; payment terms\n"
     "search_docs {\"q\":\"Late invoice fee\"} => 2 articles: dunning levels; payment terms"},
    {"a parameter against caches", 3,
     "9* http_get {\"url\":\"https://a.example/p?_={t}&id=4\"} => <p>Under construction until spring</p>"},
    {"a nonce", 3, "9* read_ledger {\"account\":7,\"request_id\":\"{u}\"} => balance 12.00 EUR, no open items"},
    {"another reason each time", 3,
     "9* grep {\"pattern\":\"init\",\"explanation\":\"looking for {w}\"} => main.c:12: init() is called here"},
    {"another title each time", 3,
     "! 9* run_command {\"command\":\"make all\",\"description\":\"try {w}\"} => make: *** No targets.  Stop."},
    {"a request id in each answer", 3,
     "9* list_vms {\"zone\":\"a\"} => {\"request_id\":\"{u}\",\"items\":[{\"name\":\"vm1\"}],\"took_ms\":{n}}"},
    {"a time in each failure", 3, "! 9* exec make => [{t}] build {n}: linker input file not found (pid {n})"},
    {"a UUID in each failure", 3, "! 9* submit_form {\"f\":1} => validation failed (trace {u})"},
    {"an address in each failure", 3,
     "! 9* eval {\"code\":\"o.run()\"} => TypeError: <Obj at 0x7f3{n}c{i}> is not callable"},
    {"two calls in turn", 5,
     "8*(\nget_user {\"id\":1} => {\"id\":1,\"name\":\"Ada\"}\nget_team {\"id\":9} => {\"id\":9,\"name\":\"Core\"}\n)"},
    {"two calls in turn, both empty", 5,
     "8*(\nfind {\"q\":\"x1\"} => []\nquery_index {\"term\":\"x1\"} => {\"hits\":0}\n)"},
    {"three in turn", 7,
     "6*(\nopen_ticket_view {\"id\":4} => ticket 4: printer is on fire\n! assign {\"id\":4,\"to\":\"bob\"} => user bob "
     "is inactive\nget_user {\"name\":\"bob\"} => bob (inactive since May)\n)"},
    {"four in turn", 9,
     "6*(\nread {\"f\":\"a\"} => content of a\nread {\"f\":\"b\"} => content of b\n! build {} => b.c: missing "
     "semicolon\nread {\"f\":\"c\"} => content of c\n)"},
    {"five in turn", 11,
     "5*(\nview {\"f\":\"a\"} => aa aa\nview {\"f\":\"b\"} => bb bb\nview {\"f\":\"c\"} => cc cc\nview {\"f\":\"d\"} "
     "=> dd dd\n! check {} => 3 issues in d\n)"},
    {"three in turn with volatile parts", 7,
     "6*(\n! bash date; npm run build => {t} npm ERR! missing script: build\nbash cat package.json => "
     "{\"name\":\"x\"}\n! bash npm run => [{n}ms] no scripts\n)"},
    {"writing the same again, failing the same again", 5,
     "8*(\nwrite_file {\"path\":\"a.py\",\"content\":\"print(1)\"} => ok\n! bash python -m pytest => E  assert 1 == "
     "2\n)"},
    {"a click that does nothing", 5,
     "8*(\nclick {\"x\":10,\"y\":20} => clicked\nscreenshot {} => login form with an empty password field\n)"},
    {"a failing test, files looked at between", 5,
     "8*(\n! bash mvn test => FAIL OrderTest.total\nread_file {\"path\":\"src/{w}.java\"} => class {w}\n)"},
    {"a shuffle of looks", 7,
     "git_status {} => 2 files changed in tree\nget_log {} => a1 first commit here\nget_diff {} => one line was "
     "added\ngit_status {} => 2 files changed in tree\n"
     "get_branches {} => only main is there\nget_log {} => a1 first commit here\ngit_status {} => 2 files changed in "
     "tree\nget_diff {} => one line was added\n"
     "git_status {} => 2 files changed in tree"},
    {"two in turn, one strayed in", 7,
     "view_page {\"p\":\"new1\"} => {w} first\nlist_rooms {} => room 1, room 2, room 3\nget_room {\"id\":1} => booked "
     "until Friday evening\n"
     "view_page {\"p\":\"new2\"} => second\nlist_rooms {} => room 1, room 2, room 3\nget_room {\"id\":1} => booked "
     "until Friday evening\n"
     "list_rooms {} => room 1, room 2, room 3\nview_page {\"p\":\"new3\"} => third\nget_room {\"id\":1} => booked "
     "until Friday evening\n"
     "list_rooms {} => room 1, room 2, room 3\nget_room {\"id\":1} => booked until Friday evening"},
    {"the same answer to other words", 5,
     "find_tool {\"query\":\"send mail smtp\"} => Found 2 tools: post_message, open_channel\nfind_tool "
     "{\"query\":\"mail sending tool\"} => Found 2 tools: post_message, open_channel\n"
     "find_tool {\"query\":\"smtp send\"} => Found 2 tools: post_message, open_channel\nfind_tool {\"query\":\"tool "
     "for smtp mail\"} => Found 2 tools: post_message, open_channel\n"
     "find_tool {\"query\":\"send a mail\"} => Found 2 tools: post_message, open_channel\nfind_tool {\"query\":\"mail "
     "tool send message\"} => Found 2 tools: post_message, open_channel\n"
     "find_tool {\"query\":\"smtp mail tool\"} => Found 2 tools: post_message, open_channel"},
    {"nothing, to other words for one thing", 5,
     "search {\"query\":\"refund policy eu\"} => No results found.\nsearch {\"query\":\"eu refund rules\"} => No "
     "results found.\n"
     "search {\"query\":\"policy for refund in eu\"} => No results found.\nsearch {\"query\":\"refund rules policy\"} "
     "=> No results found.\n"
     "search {\"query\":\"rules for eu refund policy\"} => No results found.\nsearch {\"query\":\"refund policy rules "
     "eu\"} => No results found.\n"
     "search {\"query\":\"eu policy refund rules\"} => No results found."},
    {"pages behind the last", 5, "9* list_users {\"page\":{n}} => {\"users\":[],\"total\":0}"},
    {"lines behind the last", 5, "9* view_file {\"path\":\"a.txt\",\"offset\":{n}} => (end of file, 40 lines in all)"},
    {"other commands, one thing missing", 5,
     "! bash docker build . => Cannot connect to the Docker daemon\n! bash docker compose up => Cannot connect to the "
     "Docker daemon\n"
     "! bash docker run x => Cannot connect to the Docker daemon\n! bash docker images -a => Cannot connect to the "
     "Docker daemon\n"
     "! bash docker pull y => Cannot connect to the Docker daemon\n! bash docker volume ls => Cannot connect to the "
     "Docker daemon"},
    {"other rows, one right missing", 5,
     "! 9* update_row {\"id\":{n},\"v\":\"{w}\"} => permission denied for table orders"},
    {"other arguments, none can be read", 3,
     "! 9* create_chart {\"_raw\":\"{ab{x}\"} => Invalid arguments: Unterminated string"},
    {"edits that find nothing", 5,
     "! 9* edit_file {\"path\":\"m.go\",\"old\":\"func {w}\",\"new\":\"x\"} => old text was not found in m.go"},
    {"more of the same", 4, "9* bash {x} => ab: fine"},
    {"a setting is changed to and fro", 5,
     "8*(\nset_config {\"key\":\"mode\",\"value\":\"fast\"} => saved\nset_config {\"key\":\"mode\",\"value\":\"safe\"} "
     "=> saved\n)"},
    {"a file is rewritten to and fro, tests between", 9,
     "6*(\nwrite_file {\"path\":\"a\",\"content\":\"v1\"} => written\n! bash pytest => test_a fails\nwrite_file "
     "{\"path\":\"a\",\"content\":\"v2\"} => written\n! bash pytest => test_b fails\n)"},
    {"a job that was cancelled", 3, "9* wait_for_job {\"id\":\"j\"} => status: CANCELLED"},
    {"a job that is done", 3, "9* poll_export {\"id\":5} => {\"status\":\"completed\",\"rows\":12}"},
    {"a job that nobody knows", 3, "! 9* get_job_status {\"id\":5} => job not found"},
    {"a session that expired", 3, "9* check_status {\"session\":\"s\"} => session expired"},
    {"a job that failed, with naps", 6,
     "8*(\nsleep {\"ms\":5000} => slept\nbuild_status {\"n\":4} => build 4: FAILED\n)"},
    {"a condition that cannot be read, with naps", 3,
     "! 9* bash sleep 10; jq .x[ a.json => jq: error: syntax error, unexpected end of file"},
    {"money is sent again", 3, "! 9* transfer_funds {\"to\":\"X\",\"eur\":50} => gateway timed out, outcome unknown"},
    {"the bottom of a page", 3, "9* scroll_down {} => Already at the end of the page (12 items shown)"},
    {"the history is shortened and nothing comes of it", 5,
     "8*(\n! ask_model {\"q\":\"go on\"} => prompt is too long: {n}000 tokens\ncompact_history {} => {n}1000 -> "
     "{n}0990 tokens\n)"},
    {"shortened again and again", 3, "6* __compaction__ {\"auto\":true} => compacted"},
    {"the same order after each compaction", 5,
     "8*(\nplace_order {\"sku\":\"A\",\"qty\":1} => order placed\n__compaction__ {} => compacted\n)"},
    {"the same words", 3, "9* say I will now fix the parser."},
    {"nearly the same words", 3,
     "9* say Let me think about this again. I should check the file {w} and then run the tests and see if it all "
     "works."},
    {"the same thought", 3, "9* think {\"thought\":\"I have to look at the file\"} => noted"},
    {"a person is asked again and again", 3,
     "9* ask_user {\"question\":\"Shall I go on?\"} => The user has already said no."},
    {"the same customer", 3,
     "9* lookup_customer {\"email\":\"a@b.c\"} => {\"id\":17,\"active\":true,\"plan\":\"pro\",\"since\":\""
     "2021\"}"},
    {"the same forecast", 3, "9* get_forecast {\"city\":\"Oslo\"} => rain until Thursday, then clear skies"},
    {"the same balance", 3, "9* get_balance {\"acct\":1} => 1200.50 EUR"},
    {"the same page of a site", 3, "9* navigate {\"url\":\"https://a.example/login\"} => Login page"},
    {"the same page, spelt otherwise", 3,
     "3*(\nvisit {\"url\":\"https://A.example/x/\"} => The page about things that are\n"
     "visit {\"url\":\"https://a.example/x\"} => The page about things that are\n"
     "visit {\"url\":\"https://www.a.example//x?utm_source=z\"} => The page about things that are\n)"},
    {"the same plan", 3, "9* update_plan {\"steps\":[\"look\",\"fix\"]} => Plan updated"},
    {"the same search, small and large", 3,
     "3*(\nsearch_flights {\"query\":\"Oslo Rome\"} => 3 flights from 120 EUR\n"
     "search_flights {\"query\":\"oslo rome\"} => 3 flights from 120 EUR\n"
     "search_flights {\"query\":\"Rome, Oslo\"} => 3 flights from 120 EUR\n)"},
    {"the same unknown tool", 3, "! 9* fly_to_moon {} => Unknown tool: fly_to_moon"},
    {"the same missing argument", 3, "! 9* create_user {} => missing required parameter: name"},
    {"the same refusal", 3, "! 9* delete_user {\"id\":1} => 403 Forbidden"},
    {"the same assertion, other times", 3, "! 9* run_suite {\"name\":\"e2e\"} => 3 of 40 failed in 1{n}.2 s (run {u})"},
    {"a failure in JSON with times", 3,
     "! 9* invoke_lambda {\"fn\":\"f\"} => {\"errorType\":\"KeyError\",\"requestId\":\"{u}\",\"ts\":\"2026"
     "-01-01T00:00:{i}Z\"}"},
    {"a success in JSON with times", 3,
     "9* query_metrics {\"m\":\"cpu\"} => {\"series\":[1,2,3],\"unit\":\"percent\",\"generated_at\":\"2026"
     "-01-01T00:00:0{i}Z\",\"query_time_ms\":{n}}"},
    {"the question is put again", 3, "9* ask_human {\"prompt\":\"Which region?\"} => (no answer, the user is away)"},
    {"the same record is made again and again", 3, "9* create_ticket {\"title\":\"Broken\"} => {\"ok\":true}"},
    {"the same deployment is started again", 3, "9* deploy {\"env\":\"prod\"} => deployment queued"},
    {"the order is sent again after time outs", 3, "! 9* place_order {\"sku\":\"A\"} => request timed out"},
    {"lights are switched to and fro", 5, "8*(\nswitch_on {\"id\":1} => ok\nswitch_off {\"id\":1} => ok\n)"},
    {"a branch is left and entered", 5,
     "8*(\nbash git checkout main => Switched to branch 'main'\n"
     "bash git checkout dev => Switched to branch 'dev'\n)"},
    {"a text is put in and out", 9,
     "6*(\nedit_file {\"path\":\"a\",\"old\":\"x\",\"new\":\"y\"} => edited\n"
     "read_file {\"path\":\"a\"} => a y b\n"
     "edit_file {\"path\":\"a\",\"old\":\"y\",\"new\":\"x\"} => edited\n"
     "read_file {\"path\":\"a\"} => a x b\n)"},
    {"look, fail, look, fail", 5,
     "8*(\nlist_tables {} => users, orders, carts\n"
     "! run_sql {\"sql\":\"select * from user\"} => relation \"user\" does not exist\n)"},
    {"calendar and mail in turn", 5,
     "8*(\nlist_events {\"day\":\"mon\"} => standup 9:30, lunch 12:00\n"
     "search_mail {\"q\":\"agenda\"} => no messages matched\n)"},
    {"three in turn, all fine", 7,
     "6*(\nget_cart {} => 2 items, 40 EUR in all\nget_address {} => Main St 1, Springfield town\n"
     "get_coupons {} => none\n)"},
    {"a plan between each of three", 5,
     "7*(\nthink {\"t\":\"{w}\"} => noted\nget_cart {} => 2 items, 40 EUR in all\n)"},
    {"six in turn", 13,
     "4*(\na_get {} => aaa aa a1\nb_get {} => bbb bb b1\nc_get {} => ccc cc c1\nd_get {} => ddd dd d1\n"
     "e_get {} => eee ee e1\nf_get {} => fff ff f1\n)"},
    {"a failing compile, other pages between", 5,
     "8*(\n! compile {\"target\":\"fw\"} => undefined reference to `main'\n"
     "view_doc {\"page\":{n}} => page {n} about {w}\n)"},
    {"routes of one host", 5,
     "! get_users {\"a\":1} => 401 invalid api key\n! get_orders {\"b\":2} => 401 invalid api key\n"
     "! get_items {\"c\":3} => 401 invalid api key\n! get_users {\"a\":2} => 401 invalid api key\n"
     "! get_carts {} => 401 invalid api key\n! get_orders {\"z\":2} => 401 invalid api key\n"
     "! get_me {} => 401 invalid api key"},
    {"paths that may not be written", 5,
     "! 9* write_file {\"path\":\"/etc/{w}\",\"content\":\"x\"} => EACCES: permission denied, open '/etc/{"
     "w}'"},
    {"queries with a column that is not there", 5,
     "! 9* run_query {\"sql\":\"select foo from t where x={n} limit {i}\"} => column \"foo\" does not exis"
     "t"},
    {"commands, and the disk is full", 5, "! 9* bash cp {w} /data/{w} => cp: error writing: No space left on device"},
    {"selectors that miss", 5,
     "! 9* click {\"selector\":\"#buy > .{w}\"} => Element is not clickable: overlay in front"},
    {"a dead network", 5, "! 9* fetch_url {\"url\":\"https://{w}.example\"} => ECONNREFUSED proxy 10.0.0.1:3128"},
    {"a sandbox without a compiler", 5,
     "! bash gcc a.c => bash: gcc: command not found\n! bash gcc -O2 a.c => bash: gcc: command not found\n"
     "! bash gcc --version => bash: gcc: command not found\n"
     "! bash gcc a.c -o a => bash: gcc: command not found\n"
     "! bash which gcc; gcc => bash: gcc: command not found\n! bash gcc -v => bash: gcc: command not found"},
    {"the knowledge base knows no better", 5,
     "kb_search {\"q\":\"reset vpn token\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"vpn token reset how\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"token for vpn lost\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"reset lost vpn token\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"lost token vpn\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"vpn reset lost\"} => Article 12: VPN basics and more\n"
     "kb_search {\"q\":\"how to reset vpn\"} => Article 12: VPN basics and more"},
    {"the depth creeps", 5, "9* list_tree {\"path\":\"src\",\"depth\":{n}} => src: a.c b.c and nothing below"},
    {"the offset creeps past the end", 5, "9* read_log {\"offset\":{n}00} => "},
    {"the cursor of an empty list", 5, "9* list_messages {\"skip\":{n}0} => []"},
    {"a prompt grows", 4, "9* web_search {\"query\":\"{x}\"} => the usual hits: one, two"},
    {"an import that ended", 3, "9* import_status {\"id\":1} => {\"status\":\"FINISHED\",\"imported\":40}"},
    {"a call that was hung up", 3, "9* check_call {\"sid\":\"c\"} => call ended"},
    {"a machine that is gone", 3, "! 9* poll_vm {\"id\":\"v\"} => 404: no such instance"},
    {"an order that was delivered", 3, "9* track_order {\"id\":4} => {\"status\":\"delivered\"}"},
    {"a wait that ended long ago", 3, "9* await_task {\"id\":4,\"timeout_ms\":1000} => {\"state\":\"SUCCEEDED\"}"},
    {"a pipeline that failed, with waits", 6,
     "7*(\nwait {\"seconds\":20} => ok\n"
     "get_pipeline {\"id\":2} => {\"id\":2,\"status\":\"failed\",\"stage\":\"test\"}\n)"},
    {"the same apology", 3, "9* say I apologize for the confusion. Let me try that again."},
    {"promises", 3,
     "9* say I am now going to read the configuration and fix it, then I will run all tests for {w} and re"
     "port."},
    {"overflow after overflow", 5,
     "7*(\n! __llm_call__ {} => maximum context length exceeded: {n}000\n"
     "__compaction__ {} => {n}000 -> {n}000\n)"},
    {"after each compaction the same three files", 9,
     "6*(\nread_file {\"path\":\"a\"} => content a of it\nread_file {\"path\":\"b\"} => content b of it\n"
     "read_file {\"path\":\"c\"} => content c of it\ncondense_context {} => ok\n)"},
    {"a report after each compaction", 5,
     "7*(\npost_report {\"to\":\"board\"} => {\"ok\":true}\nsummarize_conversation {} => ok\n)"},
    {"tickets of one text, each with a number", 3,
     "9* create_ticket {\"title\":\"Broken\"} => {\"ok\":true,\"id\":\"T-{n}\"}"},
    {"mails of one text, each with an id", 3,
     "9* send_mail {\"to\":\"a\",\"text\":\"b\"} => sent, message id m{n}x{i}"},
    {"edits that find nothing, with what they look for", 5,
     "! 9* edit_file {\"path\":\"m.go\",\"old\":\"func {w}\",\"new\":\"x\"} => `func {w}` was not found in m.go"},
    {"a user who is active", 3,
     "9* get_profile {\"u\":1} => {\"name\":\"Ada\",\"status\":\"active\",\"plan\":\"pro\"}"},
    {"an order, shipped long ago", 3,
     "9* get_order {\"id\":1} => {\"id\":1,\"status\":\"shipped\",\"carrier\":\"DHL\"}"},
    {"a linter that fixes nothing", 7,
     "6*(\n! lint {\"f\":\"a\"} => a:3 missing semicolon\nfix_lint {\"f\":\"a\"} => 0 problems fixed\nformat "
     "{\"f\":\"a\"} => a "
     "unchanged\n)"},
    {"a nonce beside a method", 3,
     "9* rpc_call {\"method\":\"getBlock\",\"params\":[1],\"nonce\":{n}} => {\"block\":\"0xabc\",\"txs\":4}"},
    {"two agents send each other round", 5,
     "8*(\nhandoff {\"to\":\"planner\"} => planner: need research first\nhandoff {\"to\":\"researcher\"} => "
     "researcher: need a plan "
     "first\n)"},
    {"a build that was cancelled", 3, "9* get_build {\"id\":9} => {\"id\":9,\"status\":\"canceled\"}"},
    {"messages of the model as a tool", 3, "8* assistant_message {\"text\":\"Let me continue.\"} => "},
    {"dates that nobody takes", 5, "! 9* create_event {\"start\":\"{w} o'clock\"} => Invalid date format"},
    {"a wait that was asked for wrongly", 3,
     "! 9* wait_for_train {\"id\":7,\"timeout\":\"5s\"} => invalid argument: timeout must be an integer"},
    {"a wait that was asked for wrongly, and says so as an answer", 3,
     "9* poll_kiln {\"every\":\"x\"} => Invalid type: expected integer, received string"},
    {"a wait that is refused by an answer", 3, "9* sleep {\"s\":\"5s\"} => Invalid input: s must be a number"},
    {"a wait that is refused, and only its words tell that it failed", 3,
     "? 9* sleep {\"seconds\":\"five\"} => Error: invalid argument: seconds must be a number"},
    {"a process that has ended is given more and more time", 3,
     "9* read_process {\"pid\":7,\"timeout_ms\":{n}000} => Process exited with code 0. No new output."},
    {"a dead link, two other pages between, the clock moves", 7,
     "8*(\n! run_export {\"id\":7} => [10:0{i}:11] export of {n} rows broke off: disk quota\n"
     "read_manual {\"page\":{n}} => about {w} and {n}\nread_manual {\"page\":\"b{n}\"} => more of {w} and {n}\n)"},
    {"a table is booked again after a gateway gave up", 3, "! 9* book_table {\"at\":\"8pm\"} => 504 Gateway Timeout"},
    {"money is sent again, each time lost in another way", 3,
     "! pay_rent {\"m\":3} => 502 Bad Gateway\n! pay_rent {\"m\":3} => ECONNRESET\n! pay_rent {\"m\":3} => timed out\n"
     "! pay_rent {\"m\":3} => 504"},
    {"the last page of a catalogue, after many others", 12,
     "9* click {\"selector\":\"a.next\"} => Items {n}: {w}, {w}s and more of them\n"
     "9* click {\"selector\":\"a.next\"} => Items 90: lamp, chair and a desk of oak"},
    {"the same quote", 3, "9* get_quote {\"s\":\"ACME\"} => {\"price\":101.5,\"venue\":\"XETRA\",\"cur\":\"EUR\"}"},
};
#endif
