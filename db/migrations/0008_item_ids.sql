-- no transaction
-- Which earlier event held an item: only events with items are in it. Old code beside it: works.
-- A build that was cut leaves an index that is not valid, so it is dropped first.
drop index concurrently if exists posthorn.events_item_ids;
create index concurrently events_item_ids on posthorn.events using gin (item_ids) where item_ids is not null;
