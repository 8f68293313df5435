/* Bridges to libtorch: built here when a rank asks for one, since the job's processes start none. The compiler runs at the lowest
 * priority and in a session of its own, and may outlive us: the next job will want it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/parts.h"
#include "engine/run/launch.h"
#include "engine/setup/file.h"
#include "engine/base/banned.h"

/* $1 the library, $2 the file of the compiler's words, the rest the compiler's. The last move makes it whole or not at all. */
static const char script[] = "umask 077; library=$1 words=$2; shift 2\n"
                             "for standard in c++20 c++17; do\n"
                             "    nice -n 19 \"$@\" -std=$standard -o \"$library.$$\" 2>\"$words.$$\" &&\n"
                             "        mv -f \"$library.$$\" \"$library\" && rm -f \"$words.$$\" && exit 0\n"
                             "done\n"
                             "rm -f \"$library.$$\"\n"
                             "mv -f \"$words.$$\" \"$words\"\n"
                             "exit 1\n";

struct bridge_build {
    uv_process_t process;
    struct engine *engine;
    struct bridge_build *next;
    char *library, *words;
    bool is_over;
};

static void tell(struct engine *engine, const char *library, const char *state, const char *reason) {
    struct event event = event_make(EVENT_BRIDGE, engine_time(engine), "{ss so}", "state", state, "library", event_string(library));
    if (reason) json_object_set_new(event.body, "reason", event_string(reason));
    engine_tell(engine, &event, NULL);
}

static void tell_failure(struct engine *engine, const char *library, const char *reason) {
    CLEANUP(cleanup_free) char *text = mem_printf("resident memory only, without torch's own figures: %s", reason);
    tell(engine, library, "failed", reason);
    engine_problem(engine, "memory", text, NULL);
}

/* ---- what the compiler is told */

static char *find_program(const char *name) {
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? mem_strdup(name) : NULL;
    const char *path = getenv("PATH");
    CLEANUP(cleanup_free) char *folders = mem_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
    char *rest = folders;
    for (char *folder; (folder = strsep(&rest, ":"));) {
        CLEANUP(cleanup_free) char *file = mem_printf("%s/%s", folder, name);
        if (folder[0] == '/' && access(file, X_OK) == 0) return TAKE(file);
    }
    return NULL;
}

static char *find_compiler(void) {
    const char *const names[] = {getenv("CXX"), "c++", "g++", "clang++"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char *found = names[i] && names[i][0] ? find_program(names[i]) : NULL;
        if (found) return found;
    }
    return NULL;
}

/* The first line of the compiler's words that names an error. */
static char *first_error(const char *words) {
    char line[300];
    char *found = NULL;
    FILE *file = fopen(words, "re");
    while (file && !found && fgets(line, sizeof line, file))
        if (strstr(line, "error")) found = mem_strndup(line, strcspn(line, "\n"));
    if (file) fclose(file);
    return found ? found : mem_strdup("the compiler failed");
}

/* ---- a build */

static void closed(uv_handle_t *handle) {
    struct bridge_build *build = handle->data;
    build->is_over = true;
}

static void ended(uv_process_t *process, int64_t status, int number) {
    struct bridge_build *build = process->data;
    uv_close((uv_handle_t *)process, closed);
    if (status == 0 && number == 0) {
        tell(build->engine, build->library, "built", NULL);
        return;
    }
    CLEANUP(cleanup_free) char *error = first_error(build->words);
    CLEANUP(cleanup_free) char *reason = mem_printf("the bridge to torch could not be built: %s", error);
    tell_failure(build->engine, build->library, reason);
}

static int spawn(struct bridge_build *build, char **argv) {
    uv_stdio_container_t none[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    build->process.data = build;
    return uv_spawn(build->engine->loop, &build->process,
                    &(uv_process_options_t){.file = argv[0],
                                            .args = argv,
                                            .exit_cb = ended,
                                            .stdio = none,
                                            .stdio_count = ARRAY_SIZE(none),
                                            .cwd = "/",
                                            .flags = UV_PROCESS_DETACHED});
}

static int run_compiler(struct bridge_build *build, const char *compiler, const char *torch, int64_t abi, const char *support) {
    CLEANUP(cleanup_free) char *headers = mem_printf("%s/include", torch);
    CLEANUP(cleanup_free) char *libraries = mem_printf("-L%s/lib", torch);
    CLEANUP(cleanup_free) char *ours = mem_printf("-I%s/bridge", support);
    CLEANUP(cleanup_free) char *source = mem_printf("%s/bridge/engine/rank/bridge/bridge.cc", support);
    CLEANUP(cleanup_free) char *which = mem_printf("-D_GLIBCXX_USE_CXX11_ABI=%d", abi != 0);
    char *argv[] = {"/bin/sh", "-c", (char *)script, "sh", build->library, build->words, (char *)compiler, "-O2", "-DNDEBUG", "-fPIC",
                    "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden", which, "-w", "-isystem", headers, ours, source,
                    libraries, "-lc10", "-ltorch_cpu", NULL};
    return spawn(build, argv);
}

static void start(struct engine *engine, const char *library, const char *torch, int64_t abi) {
    struct err err;
    CLEANUP(cleanup_free) char *support = NULL, *compiler = find_compiler();
    if (!compiler) {
        tell_failure(engine, library, "no C++ compiler was found (CXX, c++, g++, clang++)");
        return;
    }
    if (launch_support_dir(&support, &err) || file_make_folders(library, 0700, &err)) {
        tell_failure(engine, library, err.message);
        return;
    }
    struct bridge_build *build = mem_new(sizeof *build);
    build->engine = engine;
    build->library = mem_strdup(library);
    build->words = mem_printf("%s.txt", library);
    build->next = engine->builds;
    engine->builds = build;
    int rc = run_compiler(build, compiler, torch, abi, support);
    if (rc == 0) return;
    uv_close((uv_handle_t *)&build->process, closed);
    tell_failure(engine, library, uv_strerror(rc));
}

void bridge_wanted(struct engine *engine, const struct event *event) {
    const char *state = event_text(event, "state"), *library = event_text(event, "library"), *torch = event_text(event, "torch");
    int64_t abi = 1;
    if (!state || strcmp(state, "wanted") != 0 || !library || library[0] != '/' || !torch) return;
    event_int(event, "abi", &abi);
    for (const struct bridge_build *build = engine->builds; build; build = build->next)
        if (strcmp(build->library, library) == 0) return;
    if (access(library, F_OK)) start(engine, library, torch, abi);
}

void bridges_leave(struct engine *engine) {
    for (struct bridge_build *build = engine->builds; build; build = build->next)
        if (!build->is_over && !uv_is_closing((uv_handle_t *)&build->process)) uv_close((uv_handle_t *)&build->process, closed);
}

void bridges_free(struct engine *engine) {
    for (struct bridge_build *build = engine->builds, *next; build; build = next) {
        next = build->next;
        free(build->library);
        free(build->words);
        free(build);
    }
    engine->builds = NULL;
}
