-- An index that leads to the records of a product, in the order of its name.
-- Services of older schemas do not need it. Their writers keep it, as any index.
-- compatible-with: 5

-- In the order of product names the records of a product are adjacent, and those of products outside the scope lie
-- between them. A page of one product passed the index entries of all products before it: up to every record. Here each
-- product of a scope is entered where its page begins. The other sorts need no index of their own: their keys say
-- nothing about the product, so even one record in 60 is near. Records of a product that is rarer than that are found
-- here, too, and then sorted.
-- It takes 63 MB for 1,000,000 records.
create index export_records_product_product_name
  on export_records (product_id, product_name_key, id) include (organization_id);
