BEGIN TRANSACTION;
CREATE TABLE `message` (
  `id` text PRIMARY KEY,
  `session_id` text NOT NULL,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `data` text NOT NULL,
  CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
);
INSERT INTO "message" VALUES('msg_1e2bd4fa6001WAUMoidqvaSSic','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805419942,1794805420774,'{"role":"user","time":{"created":1794805419942},"agent":"build","model":{"providerID":"scripted","modelID":"m"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1e2bd52ae001gzRav4lu06QrhF','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805420718,1794805421381,'{"parentID":"msg_1e2bd4fa6001WAUMoidqvaSSic","role":"assistant","mode":"build","agent":"build","path":{"cwd":"FOLDER","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"scripted","time":{"created":1794805420718,"completed":1794805421381},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_1e2bdbcd50010wLkd4xJKSJLQY','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805447893,1794805449561,'{"role":"user","time":{"created":1794805447893},"agent":"build","model":{"providerID":"scripted","modelID":"m"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1e2bdbf9f001baO0IDo76RIlz1','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805448607,1794805449525,'{"parentID":"msg_1e2bdbcd50010wLkd4xJKSJLQY","role":"assistant","mode":"build","agent":"build","path":{"cwd":"FOLDER","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"scripted","time":{"created":1794805448607,"completed":1794805449524},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1e2bdc339001UMXiX6VXOVn4Fs','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449529,1794805449640,'{"parentID":"msg_1e2bdbcd50010wLkd4xJKSJLQY","role":"assistant","mode":"build","agent":"build","path":{"cwd":"FOLDER","root":"/"},"cost":0,"tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"m","providerID":"scripted","time":{"created":1794805449529,"completed":1794805449638},"finish":"stop"}');
CREATE TABLE `part` (
  `id` text PRIMARY KEY,
  `message_id` text NOT NULL,
  `session_id` text NOT NULL,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `data` text NOT NULL,
  CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
);
INSERT INTO "part" VALUES('prt_1e2bd4fad001W5Q9Zp0xJGGOaK','msg_1e2bd4fa6001WAUMoidqvaSSic','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805420698,1794805420700,'{"type":"text","text":"\"Say hello to the terminal\""}');
INSERT INTO "part" VALUES('prt_1e2bd5520001BqB2b8jXN9URMI','msg_1e2bd52ae001gzRav4lu06QrhF','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805421344,1794805421348,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e2bd5526001Mz0Vwx8Ks2n30W','msg_1e2bd52ae001gzRav4lu06QrhF','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805421350,1794805421373,'{"type":"text","text":"Hello from the scripted model.","time":{"start":1794805421350,"end":1794805421372}}');
INSERT INTO "part" VALUES('prt_1e2bd553f001aF5Ey767wl4shP','msg_1e2bd52ae001gzRav4lu06QrhF','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805421375,1794805421376,'{"reason":"stop","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e2bdbcd7001m0S18fZNTjhOBr','msg_1e2bdbcd50010wLkd4xJKSJLQY','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805448591,1794805448593,'{"type":"text","text":"\"Please list the files\""}');
INSERT INTO "part" VALUES('prt_1e2bdc29800192d9FiuzxVfxvV','msg_1e2bdbf9f001baO0IDo76RIlz1','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449368,1794805449370,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e2bdc29d001aSkwQ6JNAsuoY7','msg_1e2bdbf9f001baO0IDo76RIlz1','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449373,1794805449508,'{"type":"tool","tool":"bash","callID":"call_5_0","state":{"status":"completed","input":{"command":"ls","description":"List files"},"output":"a.txt\nopencode.json\n","metadata":{"output":"a.txt\nopencode.json\n","exit":0,"truncated":false},"title":"ls","time":{"start":1794805449384,"end":1794805449506}}}');
INSERT INTO "part" VALUES('prt_1e2bdc32a001bMTxSgvGGU4yEE','msg_1e2bdbf9f001baO0IDo76RIlz1','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449514,1794805449516,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_1e2bdc392001ETbLwYlj6SlGxE','msg_1e2bdc339001UMXiX6VXOVn4Fs','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449618,1794805449620,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_1e2bdc396001RDDNr1Z7aM06Pi','msg_1e2bdc339001UMXiX6VXOVn4Fs','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449622,1794805449629,'{"type":"text","text":"There are two files here.","time":{"start":1794805449622,"end":1794805449627}}');
INSERT INTO "part" VALUES('prt_1e2bdc3a0001ZkW4Oxe6Asxtwj','msg_1e2bdc339001UMXiX6VXOVn4Fs','ses_e1d42b135ffeBzDs2D9lFuYzu4',1794805449632,1794805449633,'{"reason":"stop","type":"step-finish","tokens":{"total":18,"input":11,"output":7,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
CREATE TABLE `project` (
  `id` text PRIMARY KEY,
  `worktree` text NOT NULL,
  `vcs` text,
  `name` text,
  `icon_url` text,
  `icon_url_override` text,
  `icon_color` text,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `time_initialized` integer,
  `sandboxes` text NOT NULL,
  `commands` text
);
INSERT INTO "project" VALUES('global','/',NULL,NULL,NULL,NULL,NULL,1794805419440,1794805447536,NULL,'[]',NULL);
CREATE TABLE `session` (
  `id` text PRIMARY KEY,
  `project_id` text NOT NULL,
  `workspace_id` text,
  `parent_id` text,
  `slug` text NOT NULL,
  `directory` text NOT NULL,
  `path` text,
  `title` text NOT NULL,
  `version` text NOT NULL,
  `share_url` text,
  `summary_additions` integer,
  `summary_deletions` integer,
  `summary_files` integer,
  `summary_diffs` text,
  `metadata` text,
  `cost` real DEFAULT 0 NOT NULL,
  `tokens_input` integer DEFAULT 0 NOT NULL,
  `tokens_output` integer DEFAULT 0 NOT NULL,
  `tokens_reasoning` integer DEFAULT 0 NOT NULL,
  `tokens_cache_read` integer DEFAULT 0 NOT NULL,
  `tokens_cache_write` integer DEFAULT 0 NOT NULL,
  `revert` text,
  `permission` text,
  `agent` text,
  `model` text,
  `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL,
  `time_compacting` integer,
  `time_archived` integer,
  CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
);
INSERT INTO "session" VALUES('ses_e1d42b135ffeBzDs2D9lFuYzu4','global',NULL,NULL,'playful-moon','FOLDER','FOLDER','Hello from the scripted model.','1.18.33',NULL,0,0,0,NULL,NULL,0.0,33,21,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"m","providerID":"scripted","variant":"default"}',1794805419722,1794805449665,NULL,NULL);
COMMIT;
