# report.awk - the samples of bench/run as a table on stdout and as JSON in the file `json`.
# Figures are medians over the rounds. "x nginx" is the median over rounds of the ratio within one round: the programs took
# turns, so that what else the machine did meanwhile touches both sides of a ratio.
BEGIN { FS = "\t" }
$1 == "meta" { meta[$2] = $3 }
$1 == "program" { version[$2] = $3; order[++programs] = $2 }
$1 == "missing" { missing[++missings] = $2 }
$1 == "sample" {
    value[$3, $4, $5, $2] = $6
    if ($2 > rounds) rounds = $2
    if ($5 == "errors" || $5 == "not_200") bad[$3] += $6
}

function sorted_middle(list, n,    i, j, t) {
    if (n == 0) return ""
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function median(p, lane, metric,    r, n, list) {
    for (r = 1; r <= rounds; r++)
        if ((p, lane, metric, r) in value) list[++n] = value[p, lane, metric, r] + 0
    return sorted_middle(list, n)
}
# of p's figure to that of `base`, or, with `minus`, of their difference
function against(p, base, lane, metric, minus,    r, n, list, a, b) {
    for (r = 1; r <= rounds; r++)
        if ((p, lane, metric, r) in value && (base, lane, metric, r) in value) {
            a = value[p, lane, metric, r]; b = value[base, lane, metric, r]
            if (minus) list[++n] = a - b
            else if (b > 0) list[++n] = a / b
        }
    return sorted_middle(list, n)
}
function figure(p, kind, lane, metric) {
    if (kind == "ratio") return against(p, "nginx", lane, metric, 0)
    if (kind == "added") return p == "direct" ? "" : against(p, "direct", lane, metric, 1)
    return median(p, lane, metric)
}
function row(id, label, format, kind, lane, metric,    i, v, line, any, p) {
    line = sprintf("%-38s", label)
    for (i = 0; i <= programs; i++) {
        p = order[i]
        v = figure(p, kind, lane, metric)
        if (v != "") { any = 1; result[p] = result[p] sprintf(",\"%s\":%." format "f", id, v); got[p, id] = v }
        line = line sprintf("%12s", v == "" ? "-" : sprintf("%." format "f", v))
    }
    if (any) print line
}
# Local work on a long history, a line for each dialect; the slowest of them is what the goal is about.
function mend_rows(    n, i, list, d, us) {
    n = split("openai anthropic openai-responses gemini", list, " ")
    for (i = 1; i <= n; i++) {
        d = list[i]
        if ((us = median(d, "mend", "median_us")) == "") continue
        if (mended == "") printf "\n%-38s%12s%12s%12s%12s%12s%12s\n", "local work on a history of 1 MB, us", \
            "read", "check", "mask", "write", "all", "p99"
        printf "  %-36s%12d%12d%12d%12d%12d%12d\n", d, median(d, "mend", "read_us"), median(d, "mend", "check_us"), \
            median(d, "mend", "mask_us"), median(d, "mend", "write_us"), us, median(d, "mend", "p99_us")
        mends = mends sprintf("%s\"%s\":{\"bytes\":%d,\"median_us\":%d,\"p99_us\":%d}", mends == "" ? "" : ",", \
            d, median(d, "mend", "bytes"), us, median(d, "mend", "p99_us"))
        if (mended == "" || us + 0 > mended + 0) mended = us
    }
}
# Seeing circles: a step of an agent, by what it does and the bytes of its result.
function stall_rows(    n, i, k, agents, sizes, d) {
    split("works circles", agents, " ")
    split("1000 100000", sizes, " ")
    for (i = 1; i <= 2; i++) for (k = 1; k <= 2; k++) {
        d = agents[i] "." sizes[k]
        if (median(d, "stall", "step_ns") == "") continue
        if (watched == "") printf "\n%-38s%12s%12s%12s\n", "watching an agent, ns a step", "all", "hashing", "beyond"
        printf "  %-36s%12d%12d%12d\n", agents[i] ", results of " sizes[k] " bytes", median(d, "stall", "step_ns"), \
            median(d, "stall", "hash_ns"), median(d, "stall", "beyond_ns")
        stalls = stalls sprintf("%s\"%s\":{\"step_ns\":%d,\"hash_ns\":%d,\"beyond_ns\":%d}", stalls == "" ? "" : ",", d, \
            median(d, "stall", "step_ns"), median(d, "stall", "hash_ns"), median(d, "stall", "beyond_ns"))
        if (watched == "") watched = median(d, "stall", "beyond_ns")
        agent_bytes = median(d, "stall", "agent_bytes")
    }
    if (watched != "") printf "  %-36s%12d\n", "bytes an agent", agent_bytes
}
function goal(label, v, limit, format) {
    if (v == "") printf "  %-48s not measured\n", label
    else printf "  %-48s %." format "f  (goal <= %s)  %s\n", label, v, limit, v + 0 <= limit + 0 ? "reached" : "MISSED"
}

END {
    order[0] = "direct"
    printf "%s; %s; %s; medians of %d rounds\n\n", meta["date"], meta["machine"], \
        meta["pinned"] ? "program on core 1, load and upstream on core 0" : "not pinned", rounds
    line = sprintf("%-38s", "")
    for (i = 0; i <= programs; i++) line = line sprintf("%12s", order[i])
    print line
    row("cpu_us_2kb", "CPU per request, 2 KB, us", 1, "median", 2048, "cpu_us_per_request")
    row("cpu_2kb_x_nginx", "  x nginx", 2, "ratio", 2048, "cpu_us_per_request")
    row("cpu_us_200kb", "CPU per request, 200 KB, us", 1, "median", 204800, "cpu_us_per_request")
    row("cpu_200kb_x_nginx", "  x nginx", 2, "ratio", 204800, "cpu_us_per_request")
    row("per_second_2kb", "requests/s, 2 KB", 0, "median", 2048, "per_second")
    row("per_second_2kb_x_nginx", "  x nginx", 2, "ratio", 2048, "per_second")
    row("cpu_us_agents", "CPU per request of an agent, 200 messages, 200 KB, us", 1, "median", "agents", "cpu_us_per_request")
    row("cpu_agents_x_nginx", "  x nginx", 2, "ratio", "agents", "cpu_us_per_request")
    row("per_second_200kb", "requests/s, 200 KB", 0, "median", 204800, "per_second")
    row("per_second_200kb_x_nginx", "  x nginx", 2, "ratio", 204800, "per_second")
    row("busy_2kb", "share of its core used, 2 KB", 2, "median", 2048, "cpu_busy")
    row("busy_200kb", "share of its core used, 200 KB", 2, "median", 204800, "cpu_busy")
    row("p99_us_2kb", "p99 under that load, 2 KB, us", 0, "median", 2048, "p99_us")
    row("p99_us_200kb", "p99 under that load, 200 KB, us", 0, "median", 204800, "p99_us")
    row("one_p50_us", "one connection, median, us", 1, "median", "one", "p50_us")
    row("added_p50_us", "  added", 1, "added", "one", "p50_us")
    row("one_p99_us", "one connection, p99, us", 1, "median", "one", "p99_us")
    row("added_p99_us", "  added", 1, "added", "one", "p99_us")
    row("kb_per_stream", "KB per stream, " meta["streams"] " open", 2, "median", "streams", "kb_per_stream")
    row("kb_per_stream_less_request", "  less the bytes of its request", 2, "median", "streams", "kb_per_stream_less_request")
    row("idle_private_kb", "idle private memory, CA loaded, KB", 0, "median", "idle", "private_kb")
    row("idle_dirty_kb", "  of it written to", 0, "median", "idle", "dirty_kb")
    row("start_ms", "start to first answer, ms", 1, "median", "start", "ms")
    classify = median("classify", "classify", "median_ns")
    if (classify != "")
        printf "\nclassification of %d failures: median %d ns, p99 %d ns\n", median("classify", "classify", "records"), \
            classify, median("classify", "classify", "p99_ns")

    mend_rows()
    stall_rows()

    for (p in bad) if (bad[p]) printf "\n%s: %d requests failed or were not answered 200\n", p, bad[p]
    for (i = 1; i <= missings; i++) printf "%s%s\n", i == 1 ? "\n" : "", missing[i]
    if ("daruma" in version) {
        print "\ngoals for daruma"
        goal("CPU per request x nginx, 2 KB", got["daruma", "cpu_2kb_x_nginx"], 1.0, 2)
        goal("the same with all of it on", got["full", "cpu_2kb_x_nginx"], 1.0, 2)
        goal("CPU per request x nginx, 200 KB", got["daruma", "cpu_200kb_x_nginx"], 0.9, 2)
        goal("KB per plain stream, its request apart", got["daruma", "kb_per_stream_less_request"], 6, 2)
        goal("idle private memory, KB", got["daruma", "idle_private_kb"], 4096, 0)
        goal("classification, median, ns", classify, 2000, 0)
        goal("local work on 1 MB, slowest dialect, median, us", mended, 5000, 0)
        goal("watching beyond hashing, results of 1 KB, ns", watched, 200, 0)
    }

    printf "{\"date\":\"%s\",\"machine\":\"%s\",\"pinned\":%s,\"rounds\":%d,\"programs\":{", \
        meta["date"], meta["machine"], (meta["pinned"] ? "true" : "false"), rounds >json
    for (i = 0; i <= programs; i++)
        printf "%s\n\"%s\":{\"version\":\"%s\",\"bad_answers\":%d%s}", (i ? "," : ""), order[i], version[order[i]], \
            bad[order[i]], result[order[i]] >json
    printf "},\n" >json
    if (classify != "")
        printf "\"classify\":{\"records\":%d,\"median_ns\":%d,\"p99_ns\":%d},\n", median("classify", "classify", "records"), \
            classify, median("classify", "classify", "p99_ns") >json
    if (stalls != "") printf "\"stall\":{%s,\"agent_bytes\":%d},\n", stalls, agent_bytes >json
    if (mends != "") printf "\"mend\":{%s},\n", mends >json
    printf "\"not_measured\":[" >json
    for (i = 1; i <= missings; i++) printf "%s\"%s\"", (i == 1 ? "" : ","), missing[i] >json
    print "]}" >json
}
