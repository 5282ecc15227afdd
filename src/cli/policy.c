/* policy.c - `daruma policy`: prints the ladders. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "sys/sys.h"

int cli_policy(int argc, char **argv)
{
    const char *profile = "default", *variant = "";
    const cli_option options[] = {
        {"--profile", "NAME", &profile, NULL, "whose ladders; default: default"},
        {"--variant", "NAME", &variant, NULL, "doc or code, where a seed's document and its code differ; default: doc"},
        {0},
    };
    int rest =
        cli_options(argc, argv, options, "policy [--profile NAME] [--variant NAME]",
                    "Prints, for each kind of failure, what is tried, from the top: how often at most, what must be\n"
                    "to hand for it, and after which delay.");
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (rest < argc) {
        fprintf(stderr, "daruma policy: what is `%s`? A profile is named by --profile\n", argv[rest]);
        return 2;
    }
    const daruma_policy *p = daruma_policy_variant(str_of(profile), str_of(variant));
    if (!p) {
        fprintf(stderr, "daruma policy: there is no profile `%s`%s%s; there is", profile, *variant ? " " : "", variant);
        const char *name;
        for (size_t i = 0; (name = daruma_policy_name(i)); i++)
            fprintf(stderr, "%s `%s`", i ? "," : "", name);
        fprintf(stderr, "\n");
        return 2;
    }
    daruma_arena a;
    sys_arena_init(&a, 16384, 1 << 20);
    daruma_buf b = buf_in(&a);
    daruma_policy_print(p, &b);
    fwrite(b.p, 1, b.n, stdout);
    sys_arena_done(&a);
    return 0;
}
