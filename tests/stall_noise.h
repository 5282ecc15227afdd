/* stall_noise.h - more runs: answers that differ though they are the same, and work that looks like that. */
#ifndef STALL_NOISE_H
#define STALL_NOISE_H
#include "stall_cases.h"

static const stall_case stall_work_noise[] = {
    {"a list that is empty for a while after something was sent", 0,
     "send_code {\"to\":\"a\"} => code sent\n7* list_messages {\"q\":\"code\"} => {\"messages\":[]}\n"
     "list_messages {\"q\":\"code\"} => {\"messages\":[\"4711\"]}"},
    {"two variants are measured in turn", 0, "5*(\nbash ./old => sorted in {n} ms\nbash ./new => sorted in 1{n} ms\n)"},
    {"a database that starts", 0,
     "bash docker compose up -d db => Started\n! 7* bash pg_isready -p 5433 => localhost:5433 - no response\n"
     "bash pg_isready -p 5433 => localhost:5433 - accepting connections"},
    {"a build of each day, named by its date", 0, "8* get_newest_build {} => build_2026110{i} is the newest of main"},
    {"how far it is stands in an element of its own", 0,
     "12* get_export {\"id\":1} => <job>export</job>\\n<percent>{n}</percent>"},
    {"orders of a queue, each in an element", 0, "9* dequeue {\"queue\":\"q\"} => order_created\\n<order>{n}</order>"},
    {"when the next train goes", 0, "9* get_item {\"id\":3} => Next train\\n<at>10:{n}</at>"},
    {"the last line counts what is there", 0, "8* next_page {} => row {w} of them\n[page {i} of 9]"},
    {"a page is scrolled, and moves", 0,
     "9* scroll {\"dy\":600} => {\"ok\":true,\"scroll_y\":{n},\"at_bottom\":false}"},
    {"no host at one address after the other", 0,
     "! 10* bash ping -c1 10.0.0.{n} => 1 packets transmitted, 0 received, 100% packet loss"},
    {"a test that is asked for seven times", 0, "7* bash pytest -q => 12 passed in 1.{n}s"},
    {"jobs that are begun one after the other", 0, "8* run_job {\"name\":\"a\"} => Job {h} started"},
    {"what is missing is another thing each time", 0,
     "! 9* query {\"sql\":\"select a from {w}\"} => ERROR: relation \"{w}\" does not exist\\nLINE 1: select a from "
     "{w}"},
};

static const stall_case stall_loops_noise[] = {
    {"a server that has ended is asked after, and how long the asking took", 6,
     "start_server {\"name\":\"web\"} => {\"ok\":true,\"text\":\"Started behind the others as web\"}\n"
     "bash_output {\"name\":\"web\",\"timeout_s\":5} => {\"ok\":true,\"status\":\"running\",\"text\":\"it comes up "
     "soon\"}\n"
     "bash_output {\"name\":\"web\",\"timeout_s\":5} => {\"ok\":true,\"status\":\"exited\",\"text\":\"Error: the port "
     "is taken\"}\n"
     "8* bash_output {\"name\":\"web\",\"timeout_s\":{n}} => "
     "{\"ok\":true,\"status\":\"exited\",\"text\":\"\",\"elapsed_ms\":{n}}"},
    {"how long it took stands in a remark", 5,
     "5*(\nlist_tables {} => customers\\ninvoices\\n(2 rows, {n} ms)\n"
     "describe {\"t\":\"a\"} => id bigint, due date\\n(1 table, 1{n} ms)\n)"},
    {"a shell that writes what it did above what came of it", 3,
     "6* exec {\"cmd\":\"tail -n 2 a.log\"} => Chunk ID: {h}\\nWall time: 0.{n} seconds\\nProcess exited with code 0\\n"
     "Output:\\nshutting down\\nbye"},
    {"words that a harness writes down as a call", 3,
     "6* __message__ {\"text\":\"I will begin with the parser now.\"} => "},
    {"a harness that counts below the answer", 3,
     "6* read_file {\"p\":\"a.md\"} => # A\\nabout this and that\\n[this is call {n}; 5{i} calls left]"},
    {"a harness that reminds below the answer", 3,
     "6* read_file {\"p\":\"a.md\"} => # A\\nabout this and that\\n<system-reminder>\\n{w} is not "
     "done\\n</system-reminder>"},
    {"a picture of the same screen, taken anew", 3,
     "6* screenshot {} => {\"path\":\"/tmp/scr-{u}.png\",\"windows\":[\"Mail - 3 drafts\"],\"taken_at\":{t}}"},
    {"agents that hand each other on, each for another reason", 7,
     "6*(\nhand_to_a {\"reason\":\"it is {w}\"} => handed on to the one called a\n"
     "hand_to_b {\"reason\":\"not {w}\"} => handed on to the one called b\n"
     "hand_to_c {\"reason\":\"so {w}\"} => handed on to the one called c\n)"},
    {"tests that pass, and a look at what is changed", 5,
     "7*(\nbash npm test => Tests: 14 passed\\nTook 1.{n} s\nbash git status --short =>  M a.py\n)"},
    {"a run of which only the clock moves", 3,
     "6* train {\"lr\":0.1,\"seed\":7} => {\"loss\":0.4312,\"acc\":0.91,\"wall_time_s\":{n}}"},
};
#endif
