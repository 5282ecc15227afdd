// What was sent and what came back is mended: conversations, parameters, tool calls, streams that break off.
import "./heal_history.mjs";
import "./heal_request.mjs";
import "./heal_shrink.mjs";
import "./heal_settings.mjs";
import "./heal_refused.mjs";
import "./heal_words.mjs";
import "./heal_pinned.mjs";
import "./heal_profiles.mjs";
import "./heal_answer.mjs";
import "./heal_cut.mjs";
import "./heal_format.mjs";
import "./heal_stream.mjs";
import "./heal_api.mjs";
import "./heal_move.mjs";
import "./heal_sdk.mjs";
import "./heal_servers.mjs";
import "./heal_harm.mjs";
