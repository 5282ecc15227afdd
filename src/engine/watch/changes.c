/* changes.c - did a step that worked change something? A tool that nobody vouches for is judged by the words of its
 * name; a shell by the first word of each command. What is not known to change anything does not. */
#include "engine/watch/changes.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

// clang-format off
static const daruma_str writing[] = {
#define W(s) {s, sizeof s - 1}
    W("write"), W("edit"), W("create"), W("update"), W("delete"), W("remove"), W("patch"), W("replace"), W("insert"),
    W("append"), W("save"), W("put"), W("post"), W("set"), W("move"), W("rename"), W("install"), W("commit"), W("push"),
    W("merge"), W("send"), W("deploy"), W("apply"), W("add"), W("upload"), W("restart"), W("start"), W("stop"),
    W("fix"), W("format"), W("migrate"), W("multiedit"), W("mkdir"), W("rm"), W("mv"), W("cp"),
};
static const daruma_str shells[] = {
    W("bash"), W("shell"), W("sh"), W("terminal"), W("command"), W("exec"), W("execute"), W("run"), W("powershell"), W("cmd"),
};
/* Commands of a shell that change something where they stand. */
static const daruma_str changing[] = {
    W("sed"), W("tee"), W("mv"), W("cp"), W("rm"), W("mkdir"), W("touch"), W("chmod"), W("chown"), W("ln"), W("pip"),
    W("pip3"), W("npm"), W("pnpm"), W("yarn"), W("apt"), W("apt-get"), W("brew"), W("uv"), W("poetry"), W("patch"),
    W("dd"), W("kill"), W("pkill"), W("systemctl"), W("service"), W("docker"), W("kubectl"), W("terraform"), W("export"),
#undef W
};
// clang-format on

static bool in(daruma_str word, const daruma_str *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(word, rows[i]))
            return true;
    return false;
}
#define IN(word, rows) in(word, rows, sizeof rows / sizeof *rows)

/* The next word of a name: "str_replace_editor", "writeFile", "fs.write". */
static daruma_str next_word(daruma_str *rest)
{
    size_t i = 0;
    while (i < rest->n && !ch_alpha(rest->p[i]))
        i++;
    *rest = str_from(*rest, i);
    for (i = 0; i < rest->n && ch_alpha(rest->p[i]); i++)
        if (i && rest->p[i] >= 'A' && rest->p[i] <= 'Z' && rest->p[i - 1] >= 'a')
            break;
    daruma_str word = str_sub(*rest, 0, i);
    *rest = str_from(*rest, i);
    return word;
}

static bool has_word(daruma_str name, const daruma_str *rows, size_t n)
{
    while (name.n) {
        daruma_str word = next_word(&name);
        if (word.n && in(word, rows, n))
            return true;
    }
    return false;
}

/* "cd x && sed -i ..." and "echo a > b" change something, "cat x | grep y" does not. */
static bool command_changes(daruma_str command)
{
    bool begins = true;
    for (size_t i = 0; i < command.n;) {
        char c = command.p[i];
        if (c == '>' && i + 1 < command.n && command.p[i + 1] != '&' && (!i || (command.p[i - 1] != '2')))
            return true;
        begins |= c == ';' || c == '&' || c == '|' || c == '\n';
        if (!ch_alpha(c)) {
            i++;
            continue;
        }
        size_t from = i;
        while (i < command.n && (ch_word(command.p[i]) || command.p[i] == '-' || command.p[i] == '.'))
            i++;
        daruma_str word = str_sub(command, from, i - from);
        if (begins && !str_eq(word, S("sudo")) && IN(word, changing))
            return true;
        begins &= str_eq(word, S("sudo"));
    }
    return false;
}

bool step_is_shell(const daruma_step *step)
{
    return has_word(step->tool, shells, sizeof shells / sizeof *shells);
}

bool step_changes(const daruma_step *step)
{
    if (step->traits & DARUMA_TOOL_KNOWN)
        return (step->traits & (DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS)) != 0;
    if (!step_is_shell(step))
        return has_word(step->tool, writing, sizeof writing / sizeof *writing);
    daruma_str command = json_get(step->args, S("command"));
    if (!command.n)
        command = json_get(step->args, S("cmd"));
    return command_changes(str_sub(command.n ? command : step->args, 0, TOOL_LINE_BYTES_MAX));
}
