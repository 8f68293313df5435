/* Findings about memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/tune/rules.h"
#include "engine/base/banned.h"

static const double mib = 1 << 20;
static const double grown_mib_least = 16; /* since it began to be watched */

/* Steps keep something alive: a hint, since only the script knows what it means to keep. */
void find_growth(const struct look *look) {
    const struct snapshot *snapshot = look->snapshot;
    for (size_t i = 0; i < snapshot->rank_count; i++) {
        const struct snapshot_rank *rank = snapshot->ranks[i];
        bool is_torch = !isnan(rank->growth.a_step);
        const struct growth_figures *growth = is_torch ? &rank->growth : &rank->rss_growth;
        if (snapshot_is_over(rank) || !((growth->to - growth->from) / mib >= grown_mib_least) || !(growth->a_step > 0)) continue;
        struct finding *finding = finding_add(look, NULL, (struct finding){.rank = rank->rank, .lost_s = NAN, .gain = NAN});
        if (!finding) continue;
        finding->text = mem_printf("%s of rank %d grows by %.2f MiB a step, without end: a leak?", is_torch ? "torch's memory" : "memory",
                                   rank->rank, growth->a_step / mib);
        finding->action = mem_strdup("Look for what is kept from step to step: losses summed up without .item() or .detach(), lists of outputs");
        finding->evidence = mem_printf("%.0f to %.0f MiB in %" PRIu64 " steps in which nothing was compiled", growth->from / mib,
                                       growth->to / mib, growth->steps);
    }
}
