/* What concerns the job: keys that go to it, and leaving it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stddef.h>

#include "tui/app_inside.h"
#include "engine/base/banned.h"

unsigned app_do_input(struct app *app, int argument) {
    (void)argument;
    if (app->terminal) {
        app->is_input = true;
        job_terminal_take_charge(app->terminal);
        app_show(app, VIEW_OUTPUT);
        return ACTION_EFFECT_JOB;
    }
    app_tell(app, STYLE_PLAIN,
             app->view.is_tape ? "this is a tape: no job takes keys"
                               : "the job's terminal is not here: it reads where it was started");
    return 0;
}

unsigned app_do_input_end(struct app *app, int argument) {
    (void)argument;
    app->is_input = false;
    return 0;
}

enum answer { ANSWER_LEAVE, ANSWER_INTERRUPT, ANSWER_STAY };

static const char *const leaving[] = {
    "The job runs",
    "leave: the job goes on, inductop attach comes back",
    "interrupt the job, as ^C does",
    "stay",
    NULL,
};

void app_question_open(struct app *app, const char *const *question, unsigned (*answered)(struct app *app, int answer)) {
    app->question = question;
    app->answered = answered;
    app->answer = 0;
}

void app_question_move(struct app *app, int by) {
    int count = 0;
    while (app->question[1 + count]) count++;
    app->answer = (app->answer + count + by) % count;
}

static unsigned answered(struct app *app, int answer) {
    app->question = NULL;
    if (answer == ANSWER_LEAVE) return ACTION_EFFECT_LEAVE;
    if (answer != ANSWER_INTERRUPT) return 0;
    bool is_there = app->terminal && job_terminal_take_charge(app->terminal);
    if (is_there && job_terminal_signal(app->terminal, SIGINT)) {
        app_tell(app, STYLE_NOTE, "the job was sent an interrupt");
        return ACTION_EFFECT_JOB;
    }
    app_tell(app, STYLE_BAD, "the job cannot be reached: its terminal is not there");
    return 0;
}

static unsigned leave(struct app *app, bool asks_first) {
    if (!asks_first || app->view.is_tape || app->view.state == VIEW_ENDED)
        return ACTION_EFFECT_LEAVE;
    app_question_open(app, leaving, answered);
    return 0;
}

unsigned app_do_leave(struct app *app, int argument) {
    (void)argument;
    return leave(app, app->is_front);
}

/* A screen that came later is left by q without a question; ^C may be meant for the job. */
unsigned app_do_interrupt(struct app *app, int argument) {
    (void)argument;
    return app->question == leaving ? answered(app, ANSWER_INTERRUPT) : leave(app, app->is_front || app->terminal);
}

unsigned app_do_accept(struct app *app, int argument) {
    (void)argument;
    if (!app->question) return 0;
    app->question = NULL;
    return app->answered(app, app->answer);
}

unsigned app_do_cancel(struct app *app, int argument) {
    (void)argument;
    app->question = NULL;
    return 0;
}

unsigned app_do_next_choice(struct app *app, int argument) {
    (void)argument;
    if (app->question) app_question_move(app, 1);
    return 0;
}

unsigned app_do_previous_choice(struct app *app, int argument) {
    (void)argument;
    if (app->question) app_question_move(app, -1);
    return 0;
}

unsigned app_do_suspend(struct app *app, int argument) {
    (void)app, (void)argument;
    return ACTION_EFFECT_SUSPEND;
}
