/* A YAML document as a tree: the only file that knows libyaml.
 *
 * Reading takes a small subset on purpose: one document of maps, lists and texts, bounded in size,
 * depth and number of nodes, without anchors and aliases. Scalars stay text ("on" is "on"); tags
 * and quotes do not matter. A tree belongs to its holder, doc_free() takes all of it. No locking,
 * no state.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_SETUP_DOC_H
#define INDUCTOP_SETUP_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/err.h"

enum { DOC_SIZE_MAX = 64 << 10, DOC_DEPTH_MAX = 8, DOC_NODES_MAX = 4096 };
enum doc_type { DOC_TEXT, DOC_MAP, DOC_LIST };

struct doc {
    enum doc_type type;
    char *key;  /* in a map, else NULL */
    char *text; /* of a DOC_TEXT, else NULL; holds no NUL */
    struct doc **children;
    size_t count, room;
    unsigned line, column; /* from 1, of the key in a map; 0 when not read from a file */
    unsigned value_line, value_column;
    bool is_flow; /* written in braces or brackets */
};

/* Reads a document. Messages begin with "line N, column M: ". An empty document is an empty map. */
int doc_read(const char *text, size_t size, struct doc **ret, struct err *err);

struct doc *doc_free(struct doc *doc);
void doc_cleanup(struct doc **doc); /* for CLEANUP */

/* Lends the value of a key in a map; NULL when there is none. */
const struct doc *doc_get(const struct doc *map, const char *key);

/* For writing: a map, and things at its end. */
struct doc *doc_new_map(void);
void doc_add_text(struct doc *map, const char *key, const char *text);
struct doc *doc_add_map(struct doc *map, const char *key); /* lends the new map */

/* Adds the map in block style, ending in a line feed. Texts of several lines are written as literal
 * blocks. Fails on text that is no UTF-8. */
int doc_write(const struct doc *map, struct buf *buf, struct err *err);

#endif
