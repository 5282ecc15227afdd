/* stall_more.h - more of stall_cases.h: states at their end, what is fresh each time, other languages, and honest runs
 * that look much like each. */
#ifndef STALL_MORE_H
#define STALL_MORE_H
#include "stall_cases.h"

static const stall_case stall_work_more[] = {
    /* states that go on */
    {"a build whose state cannot be had yet, and is unchanged", 0,
     "! 9* build_status {\"id\":7} => state unchanged: waiting for a worker"},
    {"a flag that says that it is not done", 0, "9* check_import {\"id\":7} => {\"id\":7,\"done\":false}"},
    {"a flag of a job in JSON, not finished", 0,
     "9* job_status {\"id\":7} => {\"job\":7,\"finished\":false,\"errors\":null}"},
    {"a finished job is looked at twice", 0,
     "get_job {\"id\":7} => job 7: queued\n2* get_job {\"id\":7} => job 7: completed\nget_output {\"id\":7} => 40 "
     "rows"},
    {"a delivery that is under way, in German", 0, "9* sendung_status {\"nr\":4} => Status: in Zustellung, Depot {n}"},
    {"an answer in an envelope that says success", 0,
     "3* check_price {\"s\":\"A\"} => {\"status\":\"success\",\"price\":10.4}\n"
     "check_price {\"s\":\"A\"} => {\"status\":\"success\",\"price\":10.5}"},
    {"many orders, all delivered", 0, "12* get_order {\"id\":{n}} => {\"status\":\"delivered\"}"},
    {"a session that is looked at by typing nothing", 0,
     "9* write_stdin {\"session_id\":3,\"chars\":\"\"} => Wall time 5.0 seconds\\nOutput:"},
    {"a session that code looks at by typing nothing", 0,
     "11* exec {\"input\":\"const r = await tools.write_stdin({session_id:7,chars:\\\"\\\"}); text(r.output)\"} => "
     "Script "
     "completed\\nWall time 5.0 seconds\\nOutput:\\n"},
    {"a job that is waited for, in Polish", 0, "9* job_status {\"id\":4} => w toku"},
    {"a deployment says behind its name how it stands", 0, "9* bash fly status => Deployment 12 of web: pending"},
    /* looking closer, without an end to see */
    {"an editor that looks and changes in turn", 0,
     "8*(\nstr_replace_editor {\"command\":\"view\",\"path\":\"/w/a.ts\"} => 1 const a = {n};\\n2 export {w};\n"
     "str_replace_editor {\"command\":\"str_replace\",\"path\":\"/w/a.ts\",\"old_str\":\"{n}\",\"new_str\":\"{w}\"} => "
     "The "
     "file /w/a.ts has been edited.\n! bash npx eslint src => a.ts 1:7 error '{w}' is never used\n)"},
    {"the largest size that is allowed, halved each time", 0,
     "! read_block {\"dev\":\"d0\",\"size\":4096} => size 4096 exceeds what the device gives at once\n"
     "! read_block {\"dev\":\"d0\",\"size\":2048} => size 2048 exceeds what the device gives at once\n"
     "! read_block {\"dev\":\"d0\",\"size\":1024} => size 1024 exceeds what the device gives at once\n"
     "! read_block {\"dev\":\"d0\",\"size\":512} => size 512 exceeds what the device gives at once\n"
     "! read_block {\"dev\":\"d0\",\"size\":256} => size 256 exceeds what the device gives at once\n"
     "! read_block {\"dev\":\"d0\",\"size\":128} => size 128 exceeds what the device gives at once\n"
     "read_block {\"dev\":\"d0\",\"size\":64} => 64 bytes"},
    {"beyond the end of one file after the other", 0,
     "! 9* read_file {\"path\":\"logs/{w}.log\",\"offset\":500} => Line offset 500 exceeds file length ({n} lines)"},
    {"customers, and a search that repeats the question", 0,
     "9* search_customers {\"query\":\"Anna {w}\"} => {\"query\":\"Anna {w}\",\"hits\":[],\"total\":0,\"facets\":{},"
     "\"suggestions\":[],\"next_page\":null,\"corrected\":null}"},
    {"questions of other things, repeated before the answer", 0,
     "9* code_search {\"query\":\"where is {w} set\"} => Query: where is {w} set\\nResults:\\n\\nFile path: "
     "src/{w}.py\\nLines: {n}-80\\n\\nFile path: README.md\\nLines: 1-9, in the words of its author"},
    {"a search that is narrowed, and finds fewer", 0,
     "bash rg -n tok => a.ts:1: tok\\nb.ts:1: tok\\nc.ts:9: tok\\nd.ts:3: tok\\ne.ts:3: tok\n"
     "bash rg -n tok -g !a.ts => b.ts:1: tok\\nc.ts:9: tok\\nd.ts:3: tok\\ne.ts:3: tok\n"
     "bash rg -n tok -g !a.ts -g !b.ts => c.ts:9: tok\\nd.ts:3: tok\\ne.ts:3: tok\n"
     "bash rg -n tok -g !a.ts -g !b.ts -g !c.ts => d.ts:3: tok\\ne.ts:3: tok\n"
     "bash rg -n tok -g !a.ts -g !b.ts -g !c.ts -g !d.ts => e.ts:3: tok\n"
     "bash rg -n tok -g !a.ts -g !b.ts -g !c.ts -g !d.ts -g !e.ts => "},
    {"a tree that is looked over, kind by kind", 0,
     "glob {\"pattern\":\"**/*.go\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/go.mod\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/Cargo.toml\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/*.rs\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/pom.xml\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"src/**/*.java\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/*.rb\",\"path\":\"/home/dev/shop\"} => No files found\n"
     "glob {\"pattern\":\"**/Gemfile\",\"path\":\"/home/dev/shop\"} => No files found"},
    {"names of two lists, each with each", 0,
     "3*(\nglob {\"pattern\":\"{w}/**/*.sql\"} => No files found\nglob {\"pattern\":\"{w}/**/*.csv\"} => No files "
     "found\nglob {\"pattern\":\"{w}/**/*.tsv\"} => No files found\n)"},
    {"kinds of files in places that are named longer and shorter", 0,
     "4*(\nglob {\"pattern\":\"{w}/**/*.sql\"} => No files found\nglob {\"pattern\":\"lib{i}/{w}/**/*.csv\"} => No "
     "files found\nglob {\"pattern\":\"{w}/x{i}/old/**/*.tsv\"} => No files found\nglob "
     "{\"pattern\":\"lib{i}/**/*.sql\"} => No files found\n)"},
    {"blocks that are not there yet", 0,
     "! 6* get_block {\"offset\":{i}} => block {i} is not there yet, it is still being written: try again later"},
    {"a line of code about a timeout, and a call that times out", 0,
     "! 6* fetch_rows {\"q\":\"timeout = 5\"} => timeout = 5 was given; the server timed out\n"
     "fetch_rows {\"q\":\"timeout = 5\"} => 3 rows"},
    {"who is in a list, one after the other, in an envelope", 0,
     "9* directory_search {\"query\":\"{w} Meyer, dept {n}\"} => {\"content\": [{\"type\": \"text\", \"text\": \"no "
     "entry\"}]}"},
    {"a right that comes after a while", 0,
     "! 6* get_bucket {\"name\":\"b\"} => Permission denied: new roles take a minute, try again later\n"
     "get_bucket {\"name\":\"b\"} => 3 objects"},
    {"a new role that is not known everywhere yet", 0,
     "! 6* assume_role {\"arn\":\"r\"} => AccessDenied: role cannot be assumed. Newly created roles may take a few "
     "seconds; "
     "please try again.\nassume_role {\"arn\":\"r\"} => token"},
    {"a name that is refused, and is free later", 0,
     "! 6* create_bucket {\"name\":\"b\"} => Invalid name: its last owner gives it back, try again later\n"
     "create_bucket {\"name\":\"b\"} => created"},
    {"a lock of packages that somebody holds", 0,
     "! 6* bash apt-get install -y jq => E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 "
     "(apt)\nbash apt-get install -y jq => Setting up jq"},
    {"a call that timed out, and passes at last", 0,
     "! 6* fetch_page {\"url\":\"https://a.example\"} => timeout=30 exceeded: connect timeout\n"
     "fetch_page {\"url\":\"https://a.example\"} => hello"},
    {"samples of a table, others each time", 0,
     "9* sample_rows {\"table\":\"orders\",\"n\":2} => [[{n},\"2026-02-01\",\"{w}\"],[{i},\"2026-02-02\",\"paid by "
     "card\"]]"},
    {"cells of a notebook that fail in other ways", 0,
     "? python a.mean() => ----------------------------\\nNameError         Traceback (most recent call last)\\nCell "
     "In[1], "
     "line 1\\nNameError: name 'a' is not defined\n"
     "? python a = df['b'] => ----------------------------\\nKeyError         Traceback (most recent call last)\\nCell "
     "In[2], line 1\\nKeyError: 'b'\n"
     "? python a = df['c'].mean() => ----------------------------\\nTypeError         Traceback (most recent call "
     "last)\\nCell In[3], line 1\\nTypeError: cannot take the mean of text\n"
     "? python a = df['d'].mean() => 4.5"},
    /* what is fresh each time and wanted */
    {"passwords for many", 0, "9* generate_password {\"length\":16} => {\"password\":\"{k}\",\"length\":16}"},
    {"machines of one size", 0, "6* start_vm {\"size\":\"s\"} => {\"id\":\"vm-{h}\",\"zone\":\"a\",\"size\":\"s\"}"},
    {"jobs out of a queue, alike but for their ids", 0,
     "8* receive_job {\"queue\":\"thumbs\"} => {\"job\":\"{h}\",\"type\":\"resize\",\"width\":200}"},
    {"jobs are leased and done", 0,
     "8*(\nlease_task {\"pool\":\"a\"} => {\"lease\":\"{h}\",\"kind\":\"scan\"}\n"
     "finish_task {\"lease\":\"{h}\"} => {\"ok\":true}\n)"},
    {"a poll whose heartbeat moves", 0,
     "9* get_job {\"id\":7} => {\"id\":7,\"phase\":\"copy\",\"beat\":\"{h}\",\"node\":\"n4\"}"},
    {"a job that runs, with a token each time", 0,
     "9* job_status {\"id\":7} => {\"state\":\"running\",\"trace\":\"{h}\",\"node\":\"n4\"}"},
    {"the screen changes, told by a hash", 0, "7* screenshot {} => saved screen 1280x720 sha1 {h}"},
    {"commits one after the other", 0,
     "6*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{w}2\"} => edited\n"
     "git_commit {\"message\":\"step\"} => [main {k}] step\n)"},
    {"pages behind cursors that say nothing", 0,
     "9* list_files {\"cursor\":\"{k}\"} => {\"files\":[\"{w}.txt\",\"{w}.md\"],\"next\":\"{k}\"}"},
    {"pages with the same arguments", 0,
     "9* fetch_more {\"handle\":\"q1\"} => {\"rows\":[\"{w} {n}\"],\"next\":\"{k}\"}"},
    {"blocks of a chain", 0, "9* get_latest_block {} => {\"number\":{n},\"hash\":\"0x{h}\",\"txs\":0}"},
    {"the head of a branch", 0, "6* git_head {} => {h}"},
    {"checksums of files", 0, "8* sha256 {\"file\":\"{w}.iso\"} => {h}{h}"},
    /* names of outputs */
    {"a picture each hour", 0, "9* take_photo {\"cam\":\"roof\",\"out\":\"roof_20260601T0{i}0000.jpg\"} => saved"},
    {"frames that cannot be drawn, each another", 0,
     "! 6* render_frame {\"frame\":{i},\"out\":\"f_{i}.png\"} => frame {i}: texture {w} is missing"},
    {"copies of many files", 0, "9* convert {\"in\":\"{w}.doc\",\"out\":\"{w}_{h}.pdf\"} => ok"},
    /* failures */
    {"builds that end the same way for other reasons", 0,
     "! make {\"target\":\"a\"} => lexer.c:3: 'tok' undeclared\nmake: *** [all] Error 2\n"
     "! make {\"target\":\"b\"} => parser.c:9: missing semicolon before node\nmake: *** [all] Error 2\n"
     "! make {\"target\":\"c\"} => emit.c:7: too few arguments to emit_byte\nmake: *** [all] Error 2\n"
     "! make {\"target\":\"d\"} => main.c:1: cannot open header opts.h\nmake: *** [all] Error 2\n"
     "! make {\"target\":\"e\"} => sym.c:4: type of hash conflicts\nmake: *** [all] Error 2\n"
     "! make {\"target\":\"f\"} => io.c:2: no rule for reading pipes\nmake: *** [all] Error 2"},
    {"scripts that exit for other reasons", 0,
     "! bash ./a.sh => a: the tape is full\\nError: Process completed with exit code 1\n"
     "! bash ./b.sh => b: nobody is logged in there\\nError: Process completed with exit code 1\n"
     "! bash ./c.sh => c: printer on fire\\nError: Process completed with exit code 1\n"
     "! bash ./d.sh => d: the moon is not up\\nError: Process completed with exit code 1\n"
     "! bash ./e.sh => e: needs a newer kernel\\nError: Process completed with exit code 1\n"
     "! bash ./f.sh => f: two keys clash\\nError: Process completed with exit code 1"},
    {"records that are not there, each named, many", 0,
     "! 18* get_invoice {\"id\":\"INV-2026-{n}\"} => invoice INV-2026-{n} not found"},
    {"records that are not there, each named, as answers", 0,
     "18* lookup_part {\"no\":\"{n}-{i}\"} => {\"error\":null,\"part\":\"{n}-{i}\",\"found\":false}"},
    {"a lock is waited for while looking", 0,
     "! 8* bash apt-get install jq => E: Could not get lock /var/lib/dpkg/lock-frontend"},
    {"errors come in another order, and fewer", 0,
     "5*(\nedit_file {\"path\":\"{w}.ts\",\"old\":\"a\",\"new\":\"b\"} => edited\n"
     "! bash npx tsc => {w}.ts(3,1): error TS2304: no name {w}\n)"},
    /* set up again and again */
    {"a start page before each errand", 0,
     "goto {\"url\":\"https://shop.example\"} => Shop: search, cart, account and help\n"
     "search_box {\"q\":\"lamp\"} => 4 lamps from 10 EUR\n"
     "goto {\"url\":\"https://shop.example\"} => Shop: search, cart, account and help\n"
     "search_box {\"q\":\"desk\"} => 2 desks of oak\n"
     "goto {\"url\":\"https://shop.example\"} => Shop: search, cart, account and help\n"
     "search_box {\"q\":\"chair\"} => 9 chairs, 3 on sale\n"
     "goto {\"url\":\"https://shop.example\"} => Shop: search, cart, account and help\n"
     "search_box {\"q\":\"shelf\"} => 1 shelf, sold out\n"
     "goto {\"url\":\"https://shop.example\"} => Shop: search, cart, account and help\n"
     "search_box {\"q\":\"rug\"} => 12 rugs of wool"},
    {"a database is opened before each question", 0,
     "8*(\nconnect {\"db\":\"sales\"} => connected to sales, 14 tables, read only\n"
     "query {\"sql\":\"select sum(x) from {w}\"} => {n}.5\n)"},
    /* edits */
    {"files that are formatted already", 0, "9* format_file {\"path\":\"{w}.go\"} => {w}.go unchanged"},
    {"edits, one of them in vain", 0,
     "edit_file {\"path\":\"a\",\"old\":\"x\",\"new\":\"y\"} => 1 replacement\n! run_tests {} => 2 failed: q::a q::b\n"
     "edit_file {\"path\":\"a\",\"old\":\"xx\",\"new\":\"y\"} => 0 replacements\n! run_tests {} => 2 failed: q::a "
     "q::b\n"
     "edit_file {\"path\":\"a\",\"old\":\"z\",\"new\":\"y\"} => 1 replacement\n! run_tests {} => 2 failed: q::a q::b\n"
     "edit_file {\"path\":\"a\",\"old\":\"w\",\"new\":\"v\"} => 1 replacement\nrun_tests {} => 8 passed"},
    /* growth */
    {"a text is written word by word", 0,
     "write_file {\"path\":\"t\",\"text\":\"one\"} => ok\nwrite_file {\"path\":\"t\",\"text\":\"one two\"} => ok\n"
     "write_file {\"path\":\"t\",\"text\":\"one two three\"} => ok\n"
     "write_file {\"path\":\"t\",\"text\":\"one two three four\"} => ok\n"
     "write_file {\"path\":\"t\",\"text\":\"one two three four five\"} => ok\n"
     "write_file {\"path\":\"t\",\"text\":\"one two three four five six\"} => ok"},
    {"a bar grows", 0,
     "update_view {\"bar\":\"#\"} => ok\nupdate_view {\"bar\":\"##\"} => ok\nupdate_view {\"bar\":\"###\"} => ok\n"
     "update_view {\"bar\":\"####\"} => ok\nupdate_view {\"bar\":\"#####\"} => ok\nupdate_view {\"bar\":\"######\"} => "
     "ok"},
    /* search */
    {"a house that sends all to its front page", 0,
     "5* kb_search {\"query\":\"{w} tariff {n}\"} => Nothing matches. See the front page for all topics, or call us."},
    {"names that a register does not have", 0, "10* search_people {\"name\":\"Johan{w} Weber\"} => No results found."},
    {"a search is refined and found", 0,
     "3* wiki_search {\"q\":\"travel form {w}\"} => no results\nwiki_search {\"q\":\"expenses\"} => Expenses, page 4"},
    {"an alert list between pieces of work", 0,
     "6*(\nsearch_alerts {\"q\":\"open\"} => none\nwrite_report {\"part\":{i},\"text\":\"{w}\"} => written\n)"},
    /* thoughts */
    {"thoughts beside a flag", 0,
     "8* think {\"thought\":\"maybe the {w} is wrong\",\"next_needed\":true} => {\"status\":\"ok\"}"},
    {"thoughts that come back now and then", 0,
     "4*(\nthink {\"t\":\"measure, then cut\"} => ok\nsaw_plank {\"no\":{i}} => cut {n} mm\n)"},
    {"one question in other cases of letters", 0,
     "6* run_query {\"sql\":\"select name from t where name = '{w}'\"} => 1 row: found there, all is well"},
    /* runs that fail and get on, and what only looks like one */
    {"fewer fail after each change, and the tool calls it fine", 0,
     "8*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "? run_tests {\"suite\":\"a\"} => F..\\nE assert 2 == 3\\n{n} failed, 4 passed in 0.{n}s\n)"},
    {"one report four times, then it is green", 0,
     "4*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "? bash pytest -q => F..\\n1 failed, 4 passed in 0.{n}s\n)\n"
     "edit_file {\"path\":\"a.py\",\"old\":\"x\",\"new\":\"y\"} => edited\n? bash pytest -q => 5 passed in 0.2s"},
    {"nothing is wrong after each of many changes", 0,
     "9*(\nedit_file {\"path\":\"{w}.css\",\"old\":\"red\",\"new\":\"{w}\"} => saved\n"
     "read_terminal {\"id\":2} => Compiling...\\nFound 0 errors. Watching for file changes.\n)"},
    {"a shell that is given its command in pieces waits", 0,
     "6* shell {\"command\":[\"bash\",\"-lc\",\"sleep 30; kubectl get pods -o name\"]} => {\"output\":\"Pending "
     "Pending\"}"},
    {"a port that gets free", 0,
     "? 2* bash npm start => [10:00:0{i}] starting\\nError: listen EADDRINUSE: address already in use :::3000\\nexit "
     "code 1\nbash kill 4711 => \nbash npm start => listening on 3000"},
    {"a table in which some are dead", 0,
     "5* kubectl {\"args\":\"get jobs\"} => NAME  STATUS    AGE\\na     Failed    {n}m\\nb     Running   {n}m"},
    {"pages behind walls, and others that are none", 0,
     "3*(\nopen_url {\"url\":\"https://{w}.example/\"} => Just a moment...\\nVerify you are human. Ray {h}\n"
     "open_url {\"url\":\"https://{w}.example.org/\"} => All about {w} and more of it\n)"},
    {"two agents are told of different things", 0,
     "6*(\nmention {\"agent\":\"dev\",\"text\":\"Please look at {w}.\"} => {\"comment_id\":{n}}\n"
     "mention {\"agent\":\"qa\",\"text\":\"I looked at {w}.\"} => {\"comment_id\":{n}}\n)"},
    {"a value is set up and down, and the rest moves", 0,
     "4*(\nset_valve {\"open\":true} => flow {n} l/s\nset_valve {\"open\":false} => level {n} cm\n)"},
    {"a key to and fro on a way that goes on", 0,
     "8*(\npress_key {\"key\":\"left\"} => Pressed left. State: ({n},7)\n"
     "press_key {\"key\":\"right\"} => Pressed right. State: ({n},8)\n)"},
    {"the first line of many files of one licence", 0,
     "15* bash head -1 src/{w}{k}.rs => // SPDX-License-Identifier: MIT, see the file LICENSE for all of it"},
    {"many files are checked, and each answer is an envelope", 0,
     "15* shell {\"command\":[\"bash\",\"-lc\",\"grep -c TODO src/{w}{k}.rs\"]} => "
     "{\"output\":\"0\",\"metadata\":{\"exit_code\":0}}"},
    {"fewer fail after each change, and the tool says so", 0,
     "8*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "! run_tests {\"suite\":\"a\"} => seed {n}\\nE assert 2 == 3\\n{n} failed, 4 passed in 0.{n}s\n)"},
    {"errors of a compiler that move with each change", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "? build {\"target\":\"a\"} => gcc -c a.c\\na.c:{n}:5: error: expected ';' before '}' token\n)"},
    {"rows that are not there, one by one", 0,
     "9* sql_query {\"query\":\"SELECT * FROM users WHERE email = '{w}@{k}.example'\"} => (0 rows)"},
    /* worlds made of text, and measurements */
    {"pots are watered again after each wait", 0,
     "5*(\nact {\"action\":\"open tap\"} => Water runs into the basin below the window.\n"
     "act {\"action\":\"fill can\"} => You hold the can into the basin until it is full.\n"
     "act {\"action\":\"pour can into pot 1\"} => You pour what is in the can into pot 1 on the bench.\n"
     "act {\"action\":\"fill can\"} => You hold the can into the basin until it is full.\n"
     "act {\"action\":\"pour can into pot 2\"} => You pour what is in the can into pot 2 on the bench.\n"
     "act {\"action\":\"fill can\"} => You hold the can into the basin until it is full.\n"
     "act {\"action\":\"pour can into pot 3\"} => You pour what is in the can into pot 3 on the bench.\n"
     "act {\"action\":\"close tap\"} => No more water runs into the basin below the window.\n"
     "6* act {\"action\":\"wait1\"} => You wait for one turn of the clock.\n)"},
    {"a metal is looked at while its temperature rises", 0,
     "9*(\nact {\"action\":\"examine tin in cup\"} => a cup, and in it a piece of solid tin\n"
     "act {\"action\":\"put thermometer on tin\"} => the thermometer on the tin shows {n} degrees celsius\n)"},
    {"earth is fetched for one pot after the other", 0,
     "4*(\nact {\"action\":\"go outside\"} => You are outside, below a tree, and the ground is soft.\n"
     "act {\"action\":\"dig\"} => You dig a hole, and a heap of earth lies beside it.\n"
     "act {\"action\":\"take earth\"} => You take as much of the earth as you can carry.\n"
     "act {\"action\":\"go inside\"} => You are in the glasshouse, and pots stand on a bench.\n"
     "act {\"action\":\"put earth into pot {w}\"} => You put the earth into the pot that says {w}.\n)"},
    {"a page is waited for and looked at, twice over", 0,
     "4*(\nbrowser {\"action\":\"wait\",\"seconds\":5} => waited\nbrowser {\"action\":\"snapshot\"} => a form for the "
     "address, and below it a wheel that turns\nbrowser {\"action\":\"console\"} => 14 requests, the last to /quote is "
     "not answered yet\n)\nbrowser {\"action\":\"snapshot\"} => a list of three quotes"},
    {"a script in a page that lets time pass and counts", 0,
     "9* browser_evaluate {\"function\":\"async function() { await sleep(2000); return "
     "document.querySelectorAll('.row').length }\"} => 3\n"
     "browser_evaluate {\"function\":\"function() { return document.title }\"} => Orders"},
    {"edits of a shell that begin with a comment, and copies between them", 0,
     "9*(\nbash {\"command\":\"# First don't lose it\\nsed -i '{n}afoo' src/a.py\"} => <returncode>0</returncode>\n"
     "bash {\"command\":\"cp src/a.py src/{w}.py\"} => <returncode>0</returncode>\n)"},
    {"searches that end with a status, for they find nothing", 0,
     "! 9* bash {\"command\":\"cat src/a.py | grep -n 'def {w}'\"} => "
     "<returncode>1</returncode>\\n<output>\\n</output>"},
    /* how a thing stands, in a word that nobody listed */
    {"a job that goes on, in German", 0, "9* get_job {\"id\":7} => {\"id\":7,\"status\":\"läuft\"}"},
    {"a job that goes on, in French", 0, "9* get_job {\"id\":7} => {\"id\":7,\"status\":\"en cours\"}"},
    {"a job that goes on, in Spanish", 0, "9* fetch_report {\"id\":7} => Status: procesando"},
    {"a job that goes on, in Chinese", 0, "9* get_job {\"id\":7} => {\"id\":7,\"state\":\"处理中\"}"},
    {"an order that is on hold", 0, "9* get_order {\"id\":7} => {\"id\":7,\"status\":\"on hold\"}"},
    {"an index that is being made", 0, "9* fetch_index {\"id\":7} => Index 7 is reindexing"},
    /* chance, and what is measured */
    {"a coin is flipped", 0, "4* flip_coin {} => It is heads this time for you"},
    {"a latency is measured", 0,
     "6* measure_latency {\"host\":\"a\"} => the round trip to host a took {n} ms on average"},
    {"a query is timed", 0,
     "6* timeit {\"fn\":\"sort\"} => sort of list ran 5 times, took {n} ms in the main thread of app"},
    {"a list that is scrolled", 0, "3* scroll {\"dir\":\"down\"} => Page scrolled (300 px)"},
    {"a row that is moved three times", 0, "3* move_row {\"id\":4} => 1 row moved in the table"},
    {"a heater is switched on and off", 0,
     "6*(\nset_heater {\"on\":true} => set, now at {n} C\nset_heater {\"on\":false} => set, now at {n}1 C\n)"},
    {"thoughts between which something is read", 0,
     "6*(\nthink {\"thought\":\"I should read on\"} => ok\nread_file {\"path\":\"{w}\"} => text of {w}\n)"},
    {"lists of what is to do, some as before", 0,
     "todo_write {\"todos\":[\"a\",\"b\"]} => saved\ntodo_write {\"todos\":[\"a\"]} => saved\n"
     "todo_write {\"todos\":[\"a\",\"b\"]} => saved\ntodo_write {\"todos\":[\"c\"]} => saved\n"
     "todo_write {\"todos\":[\"a\",\"b\"]} => saved"},
    {"changes, and the failures that are expected", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash python -m unittest => Ran 6 tests in 0.004s\\n\\nOK (expected failures=1)\n)"},
    {"changes, and a check that counts no errors", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ./check => all was freed\\n==42== ERROR SUMMARY: 0 errors from 0 contexts\n)"},
    {"changes, and what was wrong is fixed each time", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ruff check --fix . => checking\\nFound 1 error (1 fixed, 0 remaining).\n)"},
    {"changes, and a test with an error in its name", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash pytest -v => t.py::test_http[error: 404] PASSED [100%]\\n\\n1 passed in 0.02s\n)"},
    {"changes, and a page of an error that is as it should be", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ./check => checking\\nreturns 500 error to the client\n)"},
    {"changes, and errors that are ignored", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ./check => 0 failed, 1 error ignored\\nwarning: 2 errors were ignored\n)"},
    {"changes, and a test that is to be done later", 0,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash prove t => not ok 3 - later # TODO\\nok 4 - x\n)"},
    {"a result that is pending", 0, "9* get_job {\"id\":4} => {\"result\":\"pending\"}"},
    {"an outcome that is processed", 0, "9* get_job {\"id\":4} => {\"outcome\":\"processing\"}"},
    {"answers, two of which are the same", 0,
     "say Yes.\nsay No.\nsay Yes.\nsay Yes.\nsay No.\nsay Yes.\nsay No.\nsay No."},
    {"a job that is being done", 0, "9* get_job {\"id\":4} => The job is being baked"},
    {"the state of a task, in a word that nobody knows", 0,
     "9* get_job {\"id\":4} => {\"id\":4,\"task_state\":\"en marcha\"}"},
    /* the order of lines is what was done */
    {"a map on which one walks down", 0,
     "game_step {\"action\":\"south\"} => |...@...|\\n|.......|\\n|.......|\\n|.......|\\nDlvl:1 HP:12\n"
     "game_step {\"action\":\"south\"} => |.......|\\n|...@...|\\n|.......|\\n|.......|\\nDlvl:1 HP:12\n"
     "game_step {\"action\":\"south\"} => |.......|\\n|.......|\\n|...@...|\\n|.......|\\nDlvl:1 HP:12\n"
     "game_step {\"action\":\"south\"} => |.......|\\n|.......|\\n|.......|\\n|...@...|\\nDlvl:1 HP:12"},
    {"a map that is read after each step", 0,
     "walk {\"d\":\"S\"} => You walk on.\nread_map {} => |...@...|\\n|.......|\\n|.......|\\n|.......|\\nDlvl:1\n"
     "walk {\"d\":\"S\"} => You walk on.\nread_map {} => |.......|\\n|...@...|\\n|.......|\\n|.......|\\nDlvl:1\n"
     "walk {\"d\":\"S\"} => You walk on.\nread_map {} => |.......|\\n|.......|\\n|...@...|\\n|.......|\\nDlvl:1\n"
     "walk {\"d\":\"S\"} => You walk on.\nread_map {} => |.......|\\n|.......|\\n|.......|\\n|...@...|\\nDlvl:1"},
    {"a task that is moved up step by step", 0,
     "move_task_up {\"id\":4} => Buy milk today\\nCall Ann back\\nPay the bill\\nWrite report soon\n"
     "move_task_up {\"id\":4} => Buy milk today\\nCall Ann back\\nWrite report soon\\nPay the bill\n"
     "move_task_up {\"id\":4} => Buy milk today\\nWrite report soon\\nCall Ann back\\nPay the bill\n"
     "move_task_up {\"id\":4} => Write report soon\\nBuy milk today\\nCall Ann back\\nPay the bill"},
    {"a queue of songs of which the first is skipped", 0,
     "skip_track {} => Skipped.\nget_queue {} => Naima\\nSo What\\nCaravan\\nFootprints\n"
     "skip_track {} => Skipped.\nget_queue {} => So What\\nCaravan\\nFootprints\\nNaima\n"
     "skip_track {} => Skipped.\nget_queue {} => Caravan\\nFootprints\\nNaima\\nSo What\n"
     "skip_track {} => Skipped.\nget_queue {} => Footprints\\nNaima\\nSo What\\nCaravan"},
    {"files by the time when they were changed", 0,
     "bash ls -t out => a.o\\nb.o\\nc.o\\nd.o\nbash ls -t out => b.o\\na.o\\nc.o\\nd.o\n"
     "bash ls -t out => c.o\\nb.o\\na.o\\nd.o\nbash ls -t out => d.o\\nc.o\\nb.o\\na.o"},
    {"matches in an order that was asked for", 0,
     "bash rg -l --sort modified foo => a.c\\nb.c\\nc.c\\nd.c\nbash rg -l --sort modified foo => "
     "b.c\\na.c\\nc.c\\nd.c\n"
     "bash rg -l --sort modified foo => c.c\\nb.c\\na.c\\nd.c\nbash rg -l --sort modified foo => "
     "d.c\\nc.c\\nb.c\\na.c"},
    {"a sort that is watched step by step", 0,
     "sort_step {\"list\":\"main\"} => delta\\ncedar\\nbasalt\\namber\n"
     "sort_step {\"list\":\"main\"} => cedar\\ndelta\\nbasalt\\namber\n"
     "sort_step {\"list\":\"main\"} => cedar\\nbasalt\\ndelta\\namber\n"
     "sort_step {\"list\":\"main\"} => cedar\\nbasalt\\namber\\ndelta"},
    /* a run that passes after each change is none that fails: words of failures stand in names, and count none */
    {"a green Maven after each change", 0,
     "9*(\nedit_file {\"path\":\"A.java\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash mvn test => [INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0\\n[INFO] BUILD SUCCESS\n)"},
    {"a green dotnet after each change", 0,
     "9*(\nedit_file {\"path\":\"A.cs\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash dotnet test => Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12\n)"},
    {"a green jest after each change", 0,
     "9*(\nedit_file {\"path\":\"a.js\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash npm test => PASS src/a.test.js\\n  ✓ returns the error message\\n  ✓ gives up after 3 failures\\n"
     "Tests: 12 passed, 12 total\n)"},
    {"a green cargo after each change", 0,
     "9*(\nedit_file {\"path\":\"a.rs\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash cargo test => test errors::tests::display ... ok\\ntest result: ok. 12 passed; 0 failed; 0 ignored\n)"},
    {"a green ctest after each change", 0,
     "9*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ctest => 100% tests passed, 0 tests failed out of 12\n)"},
    {"a green make that compiles errors.c after each change", 0,
     "9*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash make => cc -Werror -c errors.c -o errors.o\\ncc -o app errors.o main.o\n)"},
    {"a report without an error after each change", 0,
     "9*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "run_check {} => {\"error\": null, \"failures\": [], \"ok\": true}\n)"},
    {"the error that clang sums up moves with each change", 0,
     "9*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash make => a.c:{n}:5: error: expected ';' after expression\\n1 error generated.\n)"},
    {"the error that cargo sums up moves with each change", 0,
     "9*(\nedit_file {\"path\":\"a.rs\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash cargo build => error[E0308]: mismatched types\\n --> src/a.rs:{n}:5\\n\\nerror: could not compile `app` due "
     "to "
     "1 previous error\n)"},
};

static const stall_case stall_loops_more[] = {
    {"two sayings in turn", 5, "4*(\nsay I will now read the file.\nsay Let me check the folder first.\n)"},
    {"a scroll that another element takes", 3, "6* scroll {\"dir\":\"down\"} => Scroll intercepted by another element"},
    {"a wheel that is not implemented", 4, "6* scroll {\"dir\":\"down\"} => Not implemented"},
    {"a door that is blocked", 3, "6* push_door {\"id\":4} => The door is blocked"},
    {"a fact about what somebody is doing", 3,
     "6* lookup_company {\"n\":\"X\"} => X Ltd is operating in Berlin since 1990"},
    {"facts that are asked in turn", 5,
     "6*(\nget_fact {\"id\":\"x\"} => X is operating in Berlin\nget_fact {\"id\":\"y\"} => Y is trading in Rome\n)"},
    {"the weather, and it does not change", 12, "14* get_forecast {\"city\":\"Rome\"} => It is raining"},
    {"a build that is failing", 3, "6* check_build {\"id\":7} => The build is failing for the branch main."},
    {"a failure that says who does it", 4,
     "! 8* do_it {\"id\":\"x\"} => Error: another element is intercepting the click"},
    {"a job whose word nobody knows, and it stays", 12,
     "14* get_job {\"id\":7} => {\"id\":7,\"status\":\"archiviert\"}"},
    {"a search that finds the same in another order", 4,
     "4*(\nbash find . -name '*.c' => ./a.c\\n./b.c\\n./d.c\nbash find . -name '*.c' => ./d.c\\n./a.c\\n./b.c\n)"},
    {"files that hold a word, in another order", 4,
     "3*(\nbash rg -l foo => a.c\\nb.c\\nd.c\nbash rg -l foo => d.c\\na.c\\nb.c\n)"},
    {"changes between the same error that clang sums up", 12,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash make => a.c:41:5: error: expected ';' after expression\\n1 error generated.\n)"},
    {"changes between the same error of a compiler with codes", 12,
     "8*(\nedit_file {\"path\":\"a.ts\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash npx tsc => a.ts(4,1): error TS2304: Cannot find name 'foo'.\n)"},
    {"changes between builds that fail in some seconds", 12,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ./gradlew build => > See the compiler output\\n\\nBUILD FAILED in 3s\n)"},
    {"changes between tests of which only is told that they failed", 12,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash npm test => npm ERR! Test failed.  See above for more details.\n)"},
    {"changes between bundles that fail", 12,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash npx vite build => x Build failed in 132ms\\nerror during build:\\nfailed to resolve import of foo\n)"},
    {"changes between lints that fix some", 12,
     "8*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{n}\"} => edited\n"
     "bash ruff check --fix . => Found 5 errors (3 fixed, 2 remaining).\n)"},
    {"where somebody lives", 3, "8* get_record {\"id\":4} => {\"name\":\"Bo\",\"state\":\"CA\"}"},
    {"a hundred per cent", 3, "8* get_record {\"id\":4} => {\"percent\":100}"},
    {"two bugs that are open, in turn", 5,
     "8*(\nget_issue {\"n\":3} => {\"id\":3,\"state\":\"open\",\"title\":\"Bug\"}\n"
     "get_issue {\"n\":4} => {\"id\":4,\"state\":\"open\",\"title\":\"Bag\"}\n)"},
    {"an edit that is refused, to be fixed and tried again", 3,
     "! 9* edit {\"command\":\"edit 8:9\\ndef f(:\"} => Your edit has new syntax errors. Please understand the fixes "
     "and "
     "retry your edit.\\n- E999 SyntaxError: invalid syntax"},
    {"an argument that is invalid, with the plea to correct it", 3,
     "! 9* create_chart {\"kind\":\"pie\"} => Invalid kind. Please choose another one and try again."},
    {"one call that fails in words that were heard before", 9,
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => missing required parameter: author\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => you must give an author\n"
     "! create_note {\"title\":\"t\"} => validation error: author: field required\n"
     "! create_note {\"title\":\"t\"} => create failed because author was empty\n"
     "! create_note {\"title\":\"t\"} => validation error: author: field required\n"
     "! create_note {\"title\":\"t\"} => you must give an author\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => missing required parameter: author\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => author field is required\n"
     "! create_note {\"title\":\"t\"} => you must give an author\n"
     "! create_note {\"title\":\"t\"} => validation error: author: field required\n"},
    {"a tool that refuses to read again what is unchanged", 5,
     "read_file {\"path\":\"plan.md\"} => # Plan\\n1. build it\n"
     "! 6* read_file {\"path\":\"plan.md\"} => Wasted call: file unchanged since your last read, see that result\n"},
    /* runs whose report says that they failed as before */
    {"edits between the same report, and the tool calls it fine", 12,
     "9*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "run_tests {\"suite\":\"a\"} => F..\\nE assert 2 == 3\\n1 failed, 4 passed in 0.{n}s\n)"},
    {"edits between the same report of a shell", 12,
     "9*(\nedit_file {\"path\":\"a.js\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "? bash npx jest => FAIL a.test.js\\nTests:       2 failed, 5 passed, 7 total\\nTime:        1.{n} s\\nRan all "
     "test "
     "suites.\n)"},
    {"models between the same report of a build", 12,
     "9*(\nwrite_model {\"name\":\"o\",\"sql\":\"select {w}\"} => saved\n"
     "? dbt_run {\"select\":\"o\"} => 1 of 1 ERROR creating o [ERROR in {n}.4s]\\nDone. PASS=0 WARN=0 ERROR=1 SKIP=0 "
     "TOTAL=1\n)"},
    {"edits between the same failure, with a seed and a process of its own", 12,
     "9*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "! run_tests {\"suite\":\"a\"} => seed {n} pid {n}\\nE assert 2 == 3\\n1 failed, 4 passed in 0.{n}s\n)"},
    {"changes between the same error of a compiler", 12,
     "9*(\nedit_file {\"path\":\"a.c\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "? build {\"target\":\"a\"} => gcc -c a.c\\na.c:41:5: error: expected ';' before '}' token\n)"},
    {"changes between the same failing package, timed each time", 12,
     "9*(\nedit_file {\"path\":\"a.go\",\"old\":\"{w}\",\"new\":\"{w}1\"} => edited\n"
     "run_tests {\"package\":\"a\"} => --- FAIL: TestRound (0.0{i}s)\\n    a_test.go:12: got 3, want 4\\nFAIL\\nFAIL a "
     "0.0{i}s\n)"},
    {"a port that is taken, with a clock before it", 3,
     "? 6* bash npm start => [10:00:0{i}] starting\\nError: listen EADDRINUSE: address already in use :::3000\\nexit "
     "code 1"},
    {"a table says that it is dead, and for how long", 4,
     "8* kubectl {\"args\":\"get job m\"} => NAME  STATUS    AGE\\nm     Failed    {n}m"},
    {"what was noted is looked up, with notes between", 5,
     "8*(\ncore_memory {\"action\":\"read\",\"key\":\"code\"} => (core memory is empty)\nnote {\"text\":\"It was {w}, "
     "I "
     "believe.\"} => ok\n)"},
    {"one wall before every page", 5,
     "9* open_url {\"url\":\"https://flange.example/{w}\"} => Just a moment...\\nVerify you are human by completing "
     "the "
     "action below.\\nRay ID: {h}"},
    {"one row looked for in many ways of a database", 6,
     "sql_query {\"query\":\"SELECT * FROM s WHERE email = 'ute.k@post.example'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE lower(email) = 'ute.k@post.example'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE email LIKE 'ute.k@post.example%'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE email ILIKE '%ute.k@post.example%'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE trim(email) = 'ute.k@post.example'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE email ILIKE '%ute.k@%'\"} => (0 rows)\n"
     "sql_query {\"query\":\"SELECT * FROM s WHERE replace(email,' ','') = 'ute.k@post.example'\"} => (0 rows)"},

    /* how long it took is no news */
    {"edits between the same failure", 12,
     "14*(\nedit_file {\"path\":\"a.py\",\"old\":\"{w}\",\"new\":\"{w}\"} => edited\n"
     "! run_tests {} => 1 failed, 3 passed in 0.{n}s\n)"},
    /* states at their end */
    {"a request that is merged", 3, "8* get_pull_request {\"no\":4} => {\"no\":4,\"state\":\"merged\"}"},
    {"an order that was open and is filled", 5,
     "get_order {\"id\":4} => order 4 open\nget_order {\"id\":4} => order 4 partly filled\n"
     "9* get_order {\"id\":4} => order 4 cancelled"},
    {"a licence that has run out", 3, "9* check_licence {\"k\":4} => expired"},
    {"a check that ended, and when", 3,
     "9* check_run {\"id\":4} => {\"id\":4,\"completed_at\":\"2026-03-01T10:00:00Z\",\"outcome\":\"neutral\"}"},
    {"a run that failed, found by a reader", 3, "9* get_run {\"id\":4} => {\"run\":4,\"conclusion\":\"failure\"}"},
    /* fresh parts of failures */
    {"errors in any order", 3,
     "! check_types {} => a.ts: no name Foo\\nb.ts: no name Bar\\nc.ts: wrong arity\n"
     "! check_types {} => c.ts: wrong arity\\na.ts: no name Foo\\nb.ts: no name Bar\n"
     "! check_types {} => b.ts: no name Bar\\nc.ts: wrong arity\\na.ts: no name Foo\n"
     "! check_types {} => b.ts: no name Bar\\na.ts: no name Foo\\nc.ts: wrong arity\n"
     "! check_types {} => a.ts: no name Foo\\nc.ts: wrong arity\\nb.ts: no name Bar"},
    {"an install that names its log", 3,
     "! 8* bash npm ci => npm error peer dep missing: react@17\\nnpm error fix it, or retry this command with "
     "--force\\n"
     "npm error log in /root/.npm/_logs/2026-03-01T08_1{i}_22_549Z-debug-0.log"},
    /* fresh parts of answers */
    {"a form is opened again", 3,
     "8* open_form {\"id\":\"signup\"} => Sign up: name, mail, password. <input name=csrf value={h}>"},
    {"the same remark again", 3,
     "8* issue_add_comment {\"no\":4,\"body\":\"I will look into this.\"} => "
     "{\"id\":23067{n}1,\"url\":\"https://x.example/4#c-23067{n}1\"}"},
    /* volatile arguments */
    {"headers of a trace", 3,
     "9* http_get "
     "{\"url\":\"https://a.example/x\",\"headers\":{\"Accept\":\"json\",\"traceparent\":\"00-{h}{h}-{h}-01\"}} "
     "=> a page that says the same"},
    {"a key against doubles", 3,
     "! 9* pay_out {\"to\":\"a\",\"options\":{\"idempotency-key\":\"{u}\"}} => account a is closed for payouts"},
    {"a plot under a name of its own each time", 3,
     "! 9* plot {\"data\":\"a.csv\",\"out_file\":\"plot-{h}.svg\"} => KeyError: 'price'"},
    /* spelling */
    /* growth */
    /* one question in other words */
    /* one thing in other words */
    {"a check between looks with an editor", 3,
     "8*(\n! bash npx eslint src => a.ts 1:7 error 'a' is never used\n"
     "str_replace_editor {\"command\":\"view\",\"path\":\"/w/{w}.ts\"} => 1 const {w} = {n};\n)"},
    {"six looks in turn, a sample among them", 13,
     "5*(\nlist_tables {\"s\":\"stg\"} => orders, orders_bad, fx and more\ndescribe {\"t\":\"orders\"} => id bigint, "
     "ts "
     "timestamp, amount text\n"
     "sample {\"t\":\"orders\",\"n\":2} => [[1,\"2026-02-01 10:00\",\"12,50\"],[2,\"2026-02-01 10:02\",\"7,00\"]] of "
     "many\nrow_count {\"t\":\"orders\"} => 120034\nrow_count {\"t\":\"fx\"} => 311\n"
     "lineage {\"t\":\"orders\"} => raw orders to stg orders\n)"},
    {"a patch that is broken in a new way each time", 5,
     "! apply_patch {\"input\":\"{'first line of':'*** Begin\"} => Invalid patch: the first line must be '*** Begin "
     "Patch'\n"
     "! apply_patch {\"input\":\"'*** Begin Patch\"} => Invalid patch: the first line must be '*** Begin Patch'\n"
     "! apply_patch {\"input\":\"patch of *** Begin\"} => Invalid patch: the first line must be '*** Begin Patch'\n"
     "! apply_patch {\"input\":\"<<EOF *** start\"} => Invalid patch: the first line must be '*** Begin Patch'\n"
     "! apply_patch {\"input\":\"diff --git a b\"} => Invalid patch: the first line must be '*** Begin Patch'\n"
     "! apply_patch {\"input\":\"*** must begin\"} => Invalid patch: the first line must be '*** Begin Patch'"},
    {"a job that is done, told in an envelope", 3,
     "6* get_job_status {\"id\":7} => {\"content\": [{\"type\": \"text\", \"text\": \"job 7: completed\"}]}"},
    {"a cell of a notebook that raises the same", 3,
     "? 6* python df.groupby('region').sum() => ----------------------------\\nKeyError         Traceback (most recent "
     "call "
     "last)\\nCell In[{n}], line 1\\nFile frame.py:9183, in groupby(self=<DataFrame object at "
     "0x7f3ded614f{n}>)\\nKeyError: 'region'"},
    /* changes that change nothing */
    {"edits that replace nothing", 6,
     "8*(\nreplace_text {\"f\":\"a.kt\",\"from\":\"x{i}\",\"to\":\"x{i}\"} => no changes made\n"
     "! run_spec {\"f\":\"a\"} => 1 failed: empty list\n)"},
    {"edits that match nothing", 6,
     "8*(\nedit_file {\"path\":\"a.kt\",\"old\":\"{w}\",\"new\":\"y\"} => 0 replacements in a.kt\n"
     "! bash gradle test => ParserTest > empty FAILED\n)"},
    /* one failure behind other words */
    {"prose where data was wanted", 5,
     "! emit_plan Sure, here is the plan that you wanted => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan Of course! The steps are these => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan I think we begin with tests => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan Let me say it otherwise: first => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan Certainly. One, two and three => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan Here you are, as JSON, hopefully => Expecting value: line 1 column 1 (char 0)\n"
     "! emit_plan My answer stands as before => Expecting value: line 1 column 1 (char 0)"},
    {"looks in any order", 7,
     "list_dir {\"p\":\".\"} => a.c b.c and doc\ngit_status {} => nothing to commit on main\nread_file {\"p\":\"doc\"} "
     "=> a "
     "guide to it all\n"
     "git_status {} => nothing to commit on main\nlist_dir {\"p\":\".\"} => a.c b.c and doc\nread_file {\"p\":\"doc\"} "
     "=> a "
     "guide to it all\n"
     "read_file {\"p\":\"doc\"} => a guide to it all\nlist_dir {\"p\":\".\"} => a.c b.c and doc\ngit_status {} => "
     "nothing to "
     "commit on main\n"
     "list_dir {\"p\":\".\"} => a.c b.c and doc\nread_file {\"p\":\"doc\"} => a guide to it all\ngit_status {} => "
     "nothing to "
     "commit on main"},
    {"four in turn", 9,
     "5*(\na_get {} => aaa aa a1\nb_get {} => bbb bb b1\nc_get {} => ccc cc c1\nd_get {} => ddd dd d1\n)"},
    /* walks through what was seen, and one thing guessed in other words */
    {"the same rooms again, in no order, and vain tries between", 14,
     "act {\"action\":\"look\"} => -= Cellar =-\\nA cellar with an oven in it. Stairs lead up, and a door north.\n"
     "act {\"action\":\"go up\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go west\"} => -= Study =-\\nA study with a safe in it. A door leads east.\n"
     "act {\"action\":\"open safe with brass key\"} => You have no such thing as that here.\n"
     "act {\"action\":\"go east\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go down\"} => -= Cellar =-\\nA cellar with an oven in it. Stairs lead up, and a door north.\n"
     "act {\"action\":\"go up\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go down\"} => -= Cellar =-\\nA cellar with an oven in it. Stairs lead up, and a door north.\n"
     "act {\"action\":\"take brass key\"} => You have no such thing as that here.\n"
     "act {\"action\":\"go up\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go west\"} => -= Study =-\\nA study with a safe in it. A door leads east.\n"
     "act {\"action\":\"unlock safe with iron key\"} => You have no such thing as that here.\n"
     "act {\"action\":\"go east\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go west\"} => -= Study =-\\nA study with a safe in it. A door leads east.\n"
     "act {\"action\":\"take iron key\"} => You have no such thing as that here.\n"
     "act {\"action\":\"go east\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go down\"} => -= Cellar =-\\nA cellar with an oven in it. Stairs lead up, and a door north.\n"
     "act {\"action\":\"look\"} => -= Cellar =-\\nA cellar with an oven in it. Stairs lead up, and a door north.\n"
     "act {\"action\":\"go up\"} => -= Hall =-\\nA hall with a clock in it. Stairs lead down, and a door west.\n"
     "act {\"action\":\"go west\"} => -= Study =-\\nA study with a safe in it. A door leads east."},
    {"two tables that are not there, guessed in longer and longer queries", 6,
     "! sql {\"query\":\"SELECT name FROM pupils WHERE liked > 1\"} => Table 'net.pupils' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupil_likes WHERE liked >= 2\"} => Table 'net.pupil_likes' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupils JOIN pupil_likes ON pupils.id = pupil_likes.pupil WHERE liked > 1\"} "
     "=> Table 'net.pupils' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupil_likes JOIN pupils ON pupil_likes.pupil = pupils.id WHERE liked > 1\"} "
     "=> Table 'net.pupil_likes' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupils JOIN pupil_likes ON pupils.id = pupil_likes.pupil WHERE liked > 1 "
     "ORDER BY name\"} => Table 'net.pupils' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupil_likes JOIN pupils ON pupil_likes.pupil = pupils.id ORDER BY name\"} "
     "=> Table 'net.pupil_likes' doesn't exist\n"
     "! sql {\"query\":\"SELECT name FROM pupils JOIN pupil_likes ON pupils.id = pupil_likes.pupil GROUP BY name\"} "
     "=> Table 'net.pupils' doesn't exist"},
    {"one column that is not there, another guess before", 6,
     "! sql {\"query\":\"SELECT id, pupil, issued FROM papers ORDER BY issued\"} => Unknown column 'pupil' in 'field "
     "list'\n"
     "! sql {\"query\":\"SELECT id, issued FROM papers ORDER BY issued\"} => Unknown column 'issued' in 'field list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) AS first FROM papers\"} => Unknown column 'issued' in 'field list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) FROM papers\"} => Unknown column 'issued' in 'field list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) AS first FROM papers LIMIT 1\"} => Unknown column 'issued' in 'field "
     "list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) FROM papers LIMIT 1\"} => Unknown column 'issued' in 'field list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) FROM papers ORDER BY issued\"} => Unknown column 'issued' in 'field list'\n"
     "! sql {\"query\":\"SELECT MIN(issued) FROM papers\"} => Unknown column 'issued' in 'field list'"},
    {"one pipe with more and more behind it, and the same comes out", 6,
     "bash diff -q a b | cut -f2 => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | cut -f2 | sort => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | cut -f2 | sort -u => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | cut -f2 | sort -u | uniq => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: "
     "shell.sh\n"
     "bash diff -q a b | cut -f2 | uniq => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | cut -f2 | uniq | sort => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | sort | cut -f2 => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh\n"
     "bash diff -q a b | sort | cut -f2 | uniq => Only in a: hello.java\\nOnly in a: info.php\\nOnly in b: shell.sh"},
    {"edits that are refused, and a file that is read between", 9,
     "6*(\n! edit_file {\"path\":\"a.py\",\"old\":\"return {w} + {n}\",\"new\":\"return 0\"} => String to replace not "
     "found in file.\nread_file {\"path\":\"a.py\"} => def f(a):\\n    return a\n)"},
    {"against a wall, and the door is to the left", 3,
     "7* act {\"action\":\"go forward\"} => a wall 1 step forward\\na wall 1 step left"},
    {"a page that is not there, and a plea to try again", 4,
     "! 5* search {\"entity\":\"Anna Berg], search[Otto Berg\"} => Could not find that page, please try again."},
    {"a script that fails and prints nothing", 4, "! 6* node_exec {\"script\":\"node render.js\"} => (no output)"},
    {"a process that has said nothing yet", 0, "14* bash_output {\"id\":\"b1\"} => (no output)"},
    {"a script that says what to do if something is running", 3,
     "6* bash cat /etc/cron.daily/x => #!/bin/sh\\n\\n# Skip if systemd is running.\\nif [ -d /run/systemd/system ]; "
     "then\\n  exit 0\\nfi\\n\\n/usr/libexec/x/x-db-backup"},
    {"an answer that is called a result", 3,
     "6* lookup_capital {\"country\":\"France\"} => {\"result\":\"The capital is Paris\"}"},
    {"a patch that is called invalid, of which nobody says that it failed", 5,
     "? 9* apply_patch {\"patch\":\"*** {w}\"} => Invalid patch: the first line must be '*** Begin Patch'"},
};
#endif
