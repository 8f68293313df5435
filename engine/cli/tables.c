/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/tables.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/err.h"
#include "engine/setup/nearest.h"
#include "engine/setup/options.h"
#include "engine/setup/settings.h"
#include "engine/wire/kinds.h"

#include "engine/base/banned.h"

static json_t *letter(char flag) {
    return flag ? json_stringn(&flag, 1) : json_null();
}

/* "a|b|c" as an array. */
static json_t *choices(const char *text) {
    json_t *array = json_array();
    while (text && *text) {
        size_t size = strcspn(text, "|");
        json_array_append_new(array, json_stringn(text, size));
        text += text[size] ? size + 1 : size;
    }
    return array;
}

static json_t *setting_json(enum setting_id id) {
    const struct setting *row = setting_get(id);
    json_t *object = json_pack(
        "{ss ss ss so ss ss ss ss ss ss}", "key", row->key, "type", setting_type_name(row->type),
        "effect", setting_effect_name(row->effect), "toggle", letter(row->toggle), "label",
        row->label == SETTING_LABEL_VALUE ? "value" : "key", "path", row->path, "needs", row->needs,
        "cannot", row->cannot, "risk", row->risk, "help", row->help);
    size_t count;
    const struct setting_value *values = setting_values(id, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_pack("{ss ss ss}", "value", values[i].value, "needs",
                                               values[i].needs, "help", values[i].help));
    json_object_set_new(object, "values", array);
    if (id != SETTING_OPTIONS) return object;
    const char *const *names = setting_option_names(&count);
    array = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(array, json_string(names[i]));
    json_object_set_new(object, "names", array);
    return object;
}

static json_t *settings_json(void) {
    json_t *array = json_array();
    for (int i = 0; i < SETTING_ID_COUNT; i++) json_array_append_new(array, setting_json(i));
    return array;
}

static json_t *options_json(void) {
    json_t *array = json_array();
    for (int i = 0; i < OPTION_ID_COUNT; i++) {
        const struct option_row *row = option_get(i);
        json_t *object = json_pack(
            "{ss so ss ss ss? so sI sI ss ss ss}", "name", row->name, "flag", letter(row->flag),
            "type", option_type_name(row->type), "group", row->group, "default", row->def,
            "choices", choices(row->choices), "min", (json_int_t)row->min, "max",
            (json_int_t)row->max, "unit", row->unit, "argument", row->argument, "help", row->help);
        json_array_append_new(array, object);
    }
    return array;
}

static const char *field_type_name(enum field_type type) {
    static const char *const names[] = {"string", "int",   "number", "bool",
                                        "object", "array", "choice"};
    return names[type];
}

static json_t *field_json(const struct kind_field *field) {
    bool is_choice = field->type == FIELD_CHOICE;
    json_t *object = json_pack("{ss ss ss sb ss}", "name", field->name, "type",
                               field_type_name(field->type), "unit", is_choice ? "" : field->unit,
                               "required", field->required, "help", field->help);
    if (is_choice) json_object_set_new(object, "choices", choices(field->unit));
    return object;
}

static json_t *kind_json(enum event_kind id) {
    static const char *const rates[] = {
        [RATE_RARE] = "rare", [RATE_SAMPLE] = "sample", [RATE_STEP] = "step"};
    const struct kind *kind = kind_get(id);
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (fields[i].kind == id) json_array_append_new(array, field_json(&fields[i]));
    return json_pack("{ss si ss ss so}", "name", kind->name, "since", kind->since, "rate",
                     rates[kind->rate], "help", kind->help, "fields", array);
}

static json_t *kinds_json(void) {
    json_t *array = json_array();
    for (int i = 0; i < EVENT_KIND_COUNT; i++) json_array_append_new(array, kind_json(i));
    return array;
}

static json_t *why_json(void) {
    json_t *array = json_array();
#define WHY(symbol, bit, name, text)                                                               \
    json_array_append_new(array, json_pack("{si ss ss}", "bit", bit, "name", name, "text", text));
#include "engine/wire/why.def"
#undef WHY
    return array;
}

static json_t *frames_json(void) {
    json_t *array = json_array();
#define FRAME(symbol, id, text)                                                                    \
    json_array_append_new(array, json_pack("{ss si ss}", "name", #symbol, "id", id, "text", text));
#include "engine/wire/frames.def"
#undef FRAME
    return array;
}

static json_t *errors_json(void) {
    json_t *array = json_array();
    for (int i = 0; i < ERR_CODE_COUNT; i++)
        json_array_append_new(array,
                              json_pack("{ss ss}", "name", err_name(i), "text", err_text(i)));
    return array;
}

static const struct {
    const char *name;
    json_t *(*make)(void);
} tables[] = {{"settings", settings_json}, {"options", options_json}, {"kinds", kinds_json},
              {"why", why_json},           {"frames", frames_json},   {"errors", errors_json}};

static int print(FILE *out, json_t *json) {
    int rc = json_dumpf(json, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(json);
    if (rc == 0 && fputc('\n', out) != EOF && fflush(out) == 0) return 0;
    fprintf(stderr, "inductop: could not write the tables\n");
    return 1;
}

static int refuse_unknown(const char *which) {
    const char *names[ARRAY_SIZE(tables)];
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) names[i] = tables[i].name;
    struct err err;
    err_set(&err, ERR_UNKNOWN, "table '%s' is not known", which);
    err_hint(&err, "The tables are settings, options, kinds, why, frames and errors.");
    nearest_hint(&err, which, names, ARRAY_SIZE(names));
    fprintf(stderr, "inductop: %s\ninductop: %s\n", err.message, err.hint);
    return 2;
}

int tables_print(FILE *out, const char *which) {
    json_t *all = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (!which || strcmp(which, tables[i].name) == 0)
            json_object_set_new(all, tables[i].name, tables[i].make());
    if (json_object_size(all)) return print(out, all);
    json_decref(all);
    return refuse_unknown(which);
}

/* ---- the schema ---- */

static json_t *property(const struct kind_field *field) {
    static const char *const types[] = {
        [FIELD_STRING] = "string", [FIELD_INT] = "integer",   [FIELD_NUMBER] = "number",
        [FIELD_BOOL] = "boolean",  [FIELD_OBJECT] = "object", [FIELD_ARRAY] = "array"};
    json_t *object = json_object();
    bool is_choice = field->type == FIELD_CHOICE;
    if (is_choice)
        json_object_set_new(object, "enum", choices(field->unit));
    else
        json_object_set_new(object, "type", json_string(types[field->type]));
    bool has_unit = !is_choice && *field->unit;
    if (*field->help || has_unit)
        json_object_set_new(object, "description",
                            json_sprintf("%s%s%s", field->help,
                                         *field->help && has_unit ? "; in "
                                         : has_unit               ? "in "
                                                                  : "",
                                         has_unit ? field->unit : ""));
    return object;
}

static json_t *kind_schema(enum event_kind id) {
    json_t *properties = json_object(), *required = json_pack("[sss]", "v", "kind", "t");
    json_object_set_new(properties, "kind", json_pack("{ss}", "const", kind_name(id)));
    size_t count;
    const struct kind_field *fields = kind_fields(&count);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind != id) continue;
        json_object_set_new(properties, fields[i].name, property(&fields[i]));
        if (fields[i].required) json_array_append_new(required, json_string(fields[i].name));
    }
    return json_pack("{ss so so}", "description", kind_get(id)->help, "properties", properties,
                     "required", required);
}

static json_t *common_properties(void) {
    json_t *names = json_array();
    for (int i = 0; i < EVENT_KIND_COUNT; i++)
        json_array_append_new(names, json_string(kind_name(i)));
    return json_pack("{s{ss si ss} s{so} s{ss ss} s{ss si} s{ss si}}", "v", "type", "integer",
                     "minimum", 1, "description", "version of the wire", "kind", "enum", names, "t",
                     "type", "number", "description", "seconds since the start of the job", "rank",
                     "type", "integer", "minimum", 0, "step", "type", "integer", "minimum", 0);
}

int tables_print_schema(FILE *out) {
    json_t *kinds = json_object(), *one_of = json_array();
    for (int i = 0; i < EVENT_KIND_COUNT; i++) {
        json_object_set_new(kinds, kind_name(i), kind_schema(i));
        json_array_append_new(one_of,
                              json_pack("{so}", "$ref", json_sprintf("#/$defs/%s", kind_name(i))));
    }
    json_t *schema = json_pack(
        "{ss ss ss ss so s[sss] sb so so}", "$schema",
        "https://json-schema.org/draft/2020-12/schema", "title", "inductop events", "description",
        "One line of --json or of a tape. Printed by inductop --print-schema from "
        "engine/wire/kinds.def.",
        "type", "object", "properties", common_properties(), "required", "v", "kind", "t",
        "additionalProperties", true, "oneOf", one_of, "$defs", kinds);
    return print(out, schema);
}
