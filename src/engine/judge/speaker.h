/* speaker.h - who spoke: a provider of models, or a tool. */
#ifndef JUDGE_SPEAKER_H
#define JUDGE_SPEAKER_H
#include "engine/judge/match.h"
#include "engine/judge/unwrap.h"

/* FOR_TOOL or FOR_MODEL. Sets `v->guessed` when only words say that it is a tool. */
phrase_for speaker_of(const daruma_evidence *ev, const said *s, seen *v);
#endif
