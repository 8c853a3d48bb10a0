/* test_null_profiles.c - profiles, and where operations come from, with NULL for each pointer in turn. */
#include "null_arguments.h"

TEST(origins)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    QUIET(tern_origin_open(NULL, "layer 0"));
    QUIET(tern_origin_close(NULL));
    ALLOWED(tern_origin_open(ctx, NULL));
    tern_origin_close(ctx);
    tern_ctx_destroy(ctx);
}

TEST(profiles)
{
    tern_profile *profile;
    CHECK_OK(tern_profile_start(NULL));
    REFUSED(tern_profile_stop(NULL));
    CHECK_OK(tern_profile_stop(&profile));
    REFUSED(tern_profile_by_parse(NULL, &o.profile_by));
    REFUSED(tern_profile_by_parse("op", NULL));
    QUIET(tern_profile_get_info(NULL, &o.profile_info));
    QUIET(tern_profile_get_info(profile, NULL));
    REFUSED(tern_profile_get_row(NULL, TERN_PROFILE_OPS, 0, &o.profile_row));
    REFUSED(tern_profile_get_row(profile, TERN_PROFILE_OPS, 0, NULL));
    REFUSED(tern_profile_get_row(profile, (tern_profile_by)9, 0, &o.profile_row));
    REFUSED(tern_profile_get_frame(NULL, 0, &o.profile_frame));
    REFUSED(tern_profile_get_frame(profile, 0, NULL));
    REFUSED(tern_profile_get_thread(NULL, 0, &o.profile_thread));
    REFUSED(tern_profile_get_thread(profile, 0, NULL));
    REFUSED(tern_profile_get_span(NULL, 0, 0, &o.profile_span));
    REFUSED(tern_profile_get_span(profile, 0, 0, NULL));
    REFUSED(tern_profile_get_counter(NULL, 0, &o.profile_counter));
    REFUSED(tern_profile_get_counter(profile, 0, NULL));
    REFUSED(tern_profile_measure_limits(0, NULL));
    REFUSED(tern_profile_get_hot_spot(NULL, TERN_PROFILE_OPS, 0, NULL, &o.hot_spot));
    REFUSED(tern_profile_get_hot_spot(profile, TERN_PROFILE_OPS, 0, NULL, NULL));
    CHECK_STR(tern_bottleneck_name((tern_bottleneck)99), "unknown");
    REFUSED(tern_profile_format_parse(NULL, &o.profile_format));
    REFUSED(tern_profile_format_parse("svg", NULL));
    REFUSED(tern_profile_export(NULL, TERN_PROFILE_FORMAT_SVG, NULL, &o.text));
    REFUSED(tern_profile_export(profile, TERN_PROFILE_FORMAT_SVG, NULL, NULL));
    tern_profile_free(profile);
    QUIET(tern_profile_free(NULL));
}
