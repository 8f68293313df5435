/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/setup/doc.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "engine/base/mem.h"

#include "engine/base/banned.h"

struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t nodes;
    struct err *err;
};

/* ---- the tree ---- */

static struct doc *new_node(enum doc_type type) {
    struct doc *node = mem_new(sizeof *node);
    node->type = type;
    return node;
}

struct doc *doc_free(struct doc *doc) {
    if (!doc) return NULL;
    for (size_t i = 0; i < doc->count; i++) doc_free(doc->children[i]);
    free(doc->children);
    free(doc->key);
    free(doc->text);
    free(doc);
    return NULL;
}

void doc_cleanup(struct doc **doc) {
    doc_free(*doc);
}

static void add_child(struct doc *parent, struct doc *child) {
    if (parent->count == parent->room) {
        parent->room = parent->room ? 2 * parent->room : 8;
        parent->children = mem_resize(parent->children, parent->room, sizeof parent->children[0]);
    }
    parent->children[parent->count++] = child;
}

const struct doc *doc_get(const struct doc *map, const char *key) {
    for (size_t i = 0; map->type == DOC_MAP && i < map->count; i++)
        if (strcmp(map->children[i]->key, key) == 0) return map->children[i];
    return NULL;
}

/* ---- reading ---- */

static int refuse(struct reader *reader, yaml_mark_t mark, enum err_code code, const char *reason) {
    return err_set(reader->err, code, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1,
                   reason);
}

/* A reader error has an offset in bytes and no mark. */
static yaml_mark_t mark_of_offset(const char *text, size_t offset) {
    yaml_mark_t mark = {.index = offset};
    for (size_t i = 0; i < offset; i++) {
        mark.column++;
        if (text[i] == '\n') mark.line++, mark.column = 0;
    }
    return mark;
}

static int next(struct reader *reader, yaml_event_t *event) {
    if (yaml_parser_parse(&reader->parser, event)) return 0;
    memset(event, 0, sizeof *event);
    const char *problem = reader->parser.problem ? reader->parser.problem : "not understood";
    yaml_mark_t mark = reader->parser.problem_mark;
    if (reader->parser.error == YAML_READER_ERROR)
        mark = mark_of_offset(reader->text, reader->parser.problem_offset);
    return refuse(reader, mark, ERR_SYNTAX, problem);
}

static int read_node(struct reader *reader, const yaml_event_t *event, int depth, struct doc **ret);

static int read_text(struct reader *reader, const yaml_event_t *event, struct doc *node) {
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length)
        return refuse(reader, event->start_mark, ERR_INVALID, "text holds a NUL character");
    node->text = mem_strdup(text);
    return 0;
}

static int read_key(struct reader *reader, const yaml_event_t *event, const struct doc *map,
                    char **ret_key) {
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.anchor)
        return refuse(reader, event->start_mark, ERR_SYNTAX, "a key is no plain text");
    const char *key = (const char *)event->data.scalar.value;
    if (!*key || strlen(key) != event->data.scalar.length)
        return refuse(reader, event->start_mark, ERR_SYNTAX,
                      "a key is empty or holds a NUL character");
    if (doc_get(map, key))
        return err_set(reader->err, ERR_SYNTAX, "line %zu, column %zu: key '%.80s' is given twice",
                       event->start_mark.line + 1, event->start_mark.column + 1, key);
    *ret_key = mem_strdup(key);
    return 0;
}

/* The children of a map or list, to its end. */
static int read_children(struct reader *reader, struct doc *parent, int depth) {
    for (;;) {
        CLEANUP(yaml_event_delete) yaml_event_t event, value_event = {0};
        CLEANUP(cleanup_free) char *key = NULL;
        int rc = next(reader, &event);
        if (rc < 0) return rc;
        if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT) return 0;
        yaml_event_t *value = &event;
        if (parent->type == DOC_MAP) {
            if ((rc = read_key(reader, &event, parent, &key)) < 0) return rc;
            if ((rc = next(reader, &value_event)) < 0) return rc;
            value = &value_event;
        }
        struct doc *child;
        if ((rc = read_node(reader, value, depth + 1, &child)) < 0) return rc;
        child->key = TAKE(key);
        child->line = (unsigned)event.start_mark.line + 1;
        child->column = (unsigned)event.start_mark.column + 1;
        add_child(parent, child);
    }
}

static int check_bounds(struct reader *reader, const yaml_event_t *event, int depth) {
    bool has_anchor =
        (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
        (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor) ||
        (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor);
    if (has_anchor || event->type == YAML_ALIAS_EVENT)
        return refuse(reader, event->start_mark, ERR_REFUSED, "anchors and aliases are not read");
    if (depth > DOC_DEPTH_MAX)
        return refuse(reader, event->start_mark, ERR_LIMIT, "nested too deep");
    if (++reader->nodes > DOC_NODES_MAX)
        return refuse(reader, event->start_mark, ERR_LIMIT, "too many values");
    return 0;
}

static int read_node(struct reader *reader, const yaml_event_t *event, int depth,
                     struct doc **ret) {
    int rc = check_bounds(reader, event, depth);
    if (rc < 0) return rc;
    bool is_map = event->type == YAML_MAPPING_START_EVENT,
         is_text = event->type == YAML_SCALAR_EVENT;
    CLEANUP(doc_cleanup)
    struct doc *node = new_node(is_text ? DOC_TEXT : is_map ? DOC_MAP : DOC_LIST);
    node->line = node->value_line = (unsigned)event->start_mark.line + 1;
    node->column = node->value_column = (unsigned)event->start_mark.column + 1;
    node->is_flow = (is_map && event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE) ||
                    (event->type == YAML_SEQUENCE_START_EVENT &&
                     event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
    rc = is_text ? read_text(reader, event, node) : read_children(reader, node, depth);
    if (rc < 0) return rc;
    *ret = TAKE(node);
    return 0;
}

/* Passes over an event of the given type. */
static int skip(struct reader *reader, yaml_event_type_t type, const char *otherwise) {
    CLEANUP(yaml_event_delete) yaml_event_t event;
    int rc = next(reader, &event);
    if (rc < 0) return rc;
    return event.type == type ? 0 : refuse(reader, event.start_mark, ERR_SYNTAX, otherwise);
}

static int read_document(struct reader *reader, struct doc **ret) {
    CLEANUP(doc_cleanup) struct doc *root = NULL;
    CLEANUP(yaml_event_delete) yaml_event_t start = {0}, event = {0};
    int rc = skip(reader, YAML_STREAM_START_EVENT, "not a YAML file");
    if (rc < 0 || (rc = next(reader, &start)) < 0) return rc;
    if (start.type == YAML_STREAM_END_EVENT) {
        *ret = doc_new_map();
        return 0;
    }
    if ((rc = next(reader, &event)) < 0) return rc;
    if ((rc = read_node(reader, &event, 0, &root)) < 0) return rc;
    if ((rc = skip(reader, YAML_DOCUMENT_END_EVENT, "not the end of the document")) < 0) return rc;
    if ((rc = skip(reader, YAML_STREAM_END_EVENT, "more than one document")) < 0) return rc;
    *ret = TAKE(root);
    return 0;
}

int doc_read(const char *text, size_t size, struct doc **ret, struct err *err) {
    if (size > DOC_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "larger than %d KiB", DOC_SIZE_MAX >> 10);
    struct reader reader = {.text = text, .err = err};
    if (!yaml_parser_initialize(&reader.parser))
        return err_set(err, ERR_SYSTEM, "no memory for the YAML reader");
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
    int rc = read_document(&reader, ret);
    yaml_parser_delete(&reader.parser);
    return rc;
}

/* ---- writing ---- */

struct doc *doc_new_map(void) {
    return new_node(DOC_MAP);
}

void doc_add_text(struct doc *map, const char *key, const char *text) {
    struct doc *child = new_node(DOC_TEXT);
    child->key = mem_strdup(key);
    child->text = mem_strdup(text);
    add_child(map, child);
}

struct doc *doc_add_map(struct doc *map, const char *key) {
    struct doc *child = new_node(DOC_MAP);
    child->key = mem_strdup(key);
    add_child(map, child);
    return child;
}

struct writer {
    yaml_emitter_t emitter;
    yaml_event_t event;
    bool has_failed;
};

/* Passes the event on that was just made; `made` is false when it could not be (the text is no
 * UTF-8). */
static void emit(struct writer *writer, int made) {
    if (writer->has_failed) {
        if (made) yaml_event_delete(&writer->event);
        return;
    }
    writer->has_failed = !made || !yaml_emitter_emit(&writer->emitter, &writer->event);
}

static void emit_text(struct writer *writer, const char *text) {
    yaml_scalar_style_t style =
        strchr(text, '\n') ? YAML_LITERAL_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE;
    emit(writer, yaml_scalar_event_initialize(&writer->event, NULL, NULL, (const yaml_char_t *)text,
                                              (int)strlen(text), 1, 1, style));
}

static void emit_map(struct writer *writer, const struct doc *map) {
    emit(writer, yaml_mapping_start_event_initialize(&writer->event, NULL, NULL, 1,
                                                     YAML_BLOCK_MAPPING_STYLE));
    for (size_t i = 0; i < map->count; i++) {
        emit_text(writer, map->children[i]->key);
        if (map->children[i]->type == DOC_MAP)
            emit_map(writer, map->children[i]);
        else
            emit_text(writer, map->children[i]->text);
    }
    emit(writer, yaml_mapping_end_event_initialize(&writer->event));
}

static int add_output(void *buf, unsigned char *bytes, size_t size) {
    buf_add(buf, bytes, size);
    return 1;
}

int doc_write(const struct doc *map, struct buf *buf, struct err *err) {
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct writer writer = {0};
    if (!yaml_emitter_initialize(&writer.emitter))
        return err_set(err, ERR_SYSTEM, "no memory for the YAML writer");
    yaml_emitter_set_output(&writer.emitter, add_output, &out);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    yaml_emitter_set_width(&writer.emitter, -1);
    emit(&writer, yaml_stream_start_event_initialize(&writer.event, YAML_UTF8_ENCODING));
    emit(&writer, yaml_document_start_event_initialize(&writer.event, NULL, NULL, NULL, 1));
    emit_map(&writer, map);
    emit(&writer, yaml_document_end_event_initialize(&writer.event, 1));
    emit(&writer, yaml_stream_end_event_initialize(&writer.event));
    yaml_emitter_delete(&writer.emitter);
    if (writer.has_failed) return err_set(err, ERR_INVALID, "a text is no UTF-8");
    buf_add(buf, out.data, out.size);
    return 0;
}
