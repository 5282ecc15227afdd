/* policy.c - `daruma policy`: prints the ladders. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "sys/sys.h"

const daruma_policy *cli_no_profile(const char *command, daruma_str name, daruma_str variant)
{
    if (daruma_policy_variant(name, S("")))
        return CLI_NULL(command, "there is no variant `" STR_FMT "`; there are `doc` and `code`", STR_ARG(variant));
    str_near near = str_near_to(name);
    const char *known;
    for (size_t i = 0; (known = daruma_policy_name(i)); i++)
        str_near_try(&near, str_of(known));
    fprintf(stderr, "daruma %s: there is no profile `" STR_FMT "`", command, STR_ARG(name));
    if (near.best.n)
        fprintf(stderr, "; did you mean `" STR_FMT "`?", STR_ARG(near.best));
    fprintf(stderr, "%s", near.best.n ? " There are" : "; there are");
    for (size_t i = 0; (known = daruma_policy_name(i)); i++)
        fprintf(stderr, "%s `%s`", i ? "," : "", known);
    fprintf(stderr, "\n");
    return NULL;
}

/* "swarm" and "code", or "swarm/code" as a configuration has it, or "swarm,ruby-llm". NULL after saying what there is.
 */
static const daruma_policy *policy_find(const char *profile, const char *variant, daruma_arena *a)
{
    daruma_str rest = str_of(profile), name = str_cut(&rest, '/');
    daruma_str which = *variant ? str_of(variant) : rest;
    const daruma_policy *p = *variant ? daruma_policy_variant(name, which) : daruma_policy_stack(str_of(profile), a);
    return p ? p : cli_no_profile("policy", name, which);
}

int cli_policy(int argc, char **argv)
{
    const char *profile = "default", *variant = "";
    const cli_option options[] = {
        CLI_VALUE("--profile", "NAME[,NAME]", &profile,
                  "whose ladders; several stand one above the other; default: default"),
        CLI_VALUE("--variant", "NAME", &variant,
                  "doc or code, where a system's document and its code differ; default: doc"),
        {0},
    };
    int rest =
        cli_options(argc, argv, options, "policy [--profile NAME[,NAME]] [--variant NAME]",
                    "Prints, for each kind of failure, what is tried, from the top: how often at most, what must be\n"
                    "to hand for it, and after which delay.");
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (rest < argc)
        return cli_say(2, "policy", "what is `%s`? A profile is named by --profile", argv[rest]);
    daruma_arena a;
    sys_arena_init(&a, 16384, 1 << 20);
    const daruma_policy *p = policy_find(profile, variant, &a);
    if (!p) {
        sys_arena_done(&a);
        return 2;
    }
    daruma_buf b = buf_in(&a);
    daruma_policy_print(p, &b);
    fwrite(b.p, 1, b.n, stdout);
    sys_arena_done(&a);
    return 0;
}
