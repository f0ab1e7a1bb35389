// The facts of jobs/delivery/message_story.h, under the names that the workers use.
#pragma once
#include "jobs/delivery/message_story.h"

namespace tidemark::workers {

using jobs::attempt_of;
using jobs::attempts_in_vain;
using jobs::delivery_of;
using jobs::giving_up_annotation;
using jobs::job_id_of;
using jobs::MessageStory;
using jobs::parse_story;
using jobs::story_text;

}  // namespace tidemark::workers
