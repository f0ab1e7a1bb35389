using System.Globalization;

namespace Tidemark.Tests.Legacy;

public sealed class FreshTable : IAsyncLifetime
{
    public CloudTable Table { get; } = Legacy.Account.CreateCloudTableClient().GetTableReference(Stores.FreshName());

    public async ValueTask InitializeAsync() => await Table.CreateAsync();

    public async ValueTask DisposeAsync() => await Table.DeleteAsync();
}

/// Tables by the two SDKs that speak with CloudTable.
public sealed class TableCases(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly CloudTable table = fresh.Table;
    readonly string partition = Stores.FreshName("p");

    public sealed class Everything : TableEntity
    {
        public string? Text { get; set; }
        public int Int { get; set; }
        public long Long { get; set; }
        public double Double { get; set; }
        public bool Bool { get; set; }
        public DateTime Date { get; set; }
        public DateTimeOffset Offset { get; set; }
        public Guid Guid { get; set; }
        public byte[]? Bytes { get; set; }
        public int? NoInt { get; set; }
    }

    DynamicTableEntity Entity(string row, params (string Name, EntityProperty Value)[] values)
    {
        var entity = new DynamicTableEntity(partition, row);
        foreach (var (name, value) in values) entity.Properties[name] = value;
        return entity;
    }

    static EntityProperty Of(int value) => new(value);
    static EntityProperty Of(string value) => new(value);

    async Task<DynamicTableEntity> Read(string row) =>
        (DynamicTableEntity)(await table.ExecuteAsync(TableOperation.Retrieve(partition, row))).Result;

    async Task<List<DynamicTableEntity>> Query(string filter, TableRequestOptions? options = null, int? take = null, params string[] select)
    {
        var query = new TableQuery { FilterString = filter, TakeCount = take, SelectColumns = select.Length > 0 ? select : null };
        var found = new List<DynamicTableEntity>();
        TableContinuationToken? token = null;
        do
        {
            var segment = await table.ExecuteQuerySegmentedAsync(query, token, options, null);
            found.AddRange(segment.Results);
            token = segment.ContinuationToken;
        } while (token is not null);
        return found;
    }

    string Mine(string? more = null)
    {
        var filter = TableQuery.GenerateFilterCondition("PartitionKey", QueryComparisons.Equal, partition);
        return more is null ? filter : TableQuery.CombineFilters(filter, TableOperators.And, more);
    }

    async Task Finds(string expected, string more) => Assert.Equal(expected, string.Join(" ", (await Query(Mine(more))).Select(e => e.RowKey)));

    [Fact]
    public async Task All_types_and_both_ways_of_reading()
    {
        var at = new DateTime(2024, 5, 6, 7, 8, 9, DateTimeKind.Utc).AddTicks(1234567);
        var sent = new Everything
        {
            PartitionKey = partition, RowKey = "r", Text = "it's \u65e5\u672c", Int = -1, Long = 1L << 60, Double = 3, Bool = true, Date = at, Offset = at,
            Guid = Guid.NewGuid(), Bytes = [0, 1, 255],
        };
        await table.ExecuteAsync(TableOperation.Insert(sent));
        var read = (Everything)(await table.ExecuteAsync(TableOperation.Retrieve<Everything>(partition, "r"))).Result;
        Assert.Equal((sent.Text, -1, 1L << 60, 3.0, true, at, new DateTimeOffset(at), sent.Guid, null),
            (read.Text, read.Int, read.Long, read.Double, read.Bool, read.Date, read.Offset, read.Guid, read.NoInt));
        Assert.Equal(sent.Bytes, read.Bytes);
        var raw = (await Read("r")).Properties;
        Assert.Equal((EdmType.Int64, EdmType.Double, EdmType.DateTime, EdmType.Guid, EdmType.Binary, EdmType.Boolean, EdmType.Int32),
            (raw["Long"].PropertyType, raw["Double"].PropertyType, raw["Date"].PropertyType, raw["Guid"].PropertyType, raw["Bytes"].PropertyType, raw["Bool"].PropertyType, raw["Int"].PropertyType));
    }

    [Theory]
    [InlineData(TablePayloadFormat.JsonNoMetadata)]
    [InlineData(TablePayloadFormat.Json)]
    [InlineData(TablePayloadFormat.JsonFullMetadata)]
    public async Task Every_payload_format(TablePayloadFormat format)
    {
        var options = new TableRequestOptions
        {
            PayloadFormat = format,
            // Without metadata the client has to be told the types.
            PropertyResolver = (_, _, name, _) => name switch
            {
                "L" => EdmType.Int64, "D" => EdmType.Double, "G" => EdmType.Guid, "B" => EdmType.Binary, "T" => EdmType.DateTime, "N" => EdmType.Int32, "O" => EdmType.Boolean, _ => EdmType.String,
            },
        };
        var guid = Guid.NewGuid();
        var at = new DateTimeOffset(2024, 5, 6, 7, 8, 9, TimeSpan.Zero);
        var entity = Entity("r", ("S", Of("text")), ("N", Of(1)), ("L", new EntityProperty(5L)), ("D", new EntityProperty(2.0)), ("G", new EntityProperty(guid)),
            ("B", new EntityProperty(new byte[] { 1, 2 })), ("T", new EntityProperty(at)), ("O", new EntityProperty(true)));
        var inserted = await table.ExecuteAsync(TableOperation.Insert(entity, echoContent: true), options, null);
        var point = await table.ExecuteAsync(TableOperation.Retrieve(partition, "r"), options, null);
        var queried = Assert.Single(await Query(Mine(), options));
        foreach (var read in new[] { (DynamicTableEntity)inserted.Result, (DynamicTableEntity)point.Result, queried })
        {
            Assert.Equal(("text", 1, 5L, 2.0, guid, at, true), (read.Properties["S"].StringValue, read.Properties["N"].Int32Value, read.Properties["L"].Int64Value, read.Properties["D"].DoubleValue, read.Properties["G"].GuidValue, read.Properties["T"].DateTimeOffsetValue, read.Properties["O"].BooleanValue));
            Assert.Equal([1, 2], read.Properties["B"].BinaryValue);
        }
        // Without metadata the client makes the ETag from the Timestamp: it has to be the one of the store.
        Assert.Equal(inserted.Etag, point.Etag);
        Assert.Equal(point.Etag, queried.ETag);
        queried.Properties["N"] = Of(2);
        await table.ExecuteAsync(TableOperation.Replace(queried), options, null);
        await Legacy.Refused(412, "UpdateConditionNotSatisfied", () => table.ExecuteAsync(TableOperation.Replace(queried.WithTag(point.Etag)), options, null));
    }

    [Theory]
    [InlineData(0.0)]
    [InlineData(1e20)]
    [InlineData(0.1)]
    [InlineData(-2.25)]
    [InlineData(double.Epsilon)]
#if WINDOWS_AZURE_STORAGE
    [InlineData(double.NaN)]
    [InlineData(double.PositiveInfinity)]
    [InlineData(double.NegativeInfinity)]
#endif
    public async Task A_double(double value)
    {
        var entity = Entity("r", ("D", new EntityProperty(value)));
        await table.ExecuteAsync(TableOperation.Insert(entity));
        Assert.Equal(value, (await Read("r")).Properties["D"].DoubleValue);
    }

    [Fact]
    public async Task Insert_replace_merge_delete()
    {
        var inserted = await table.ExecuteAsync(TableOperation.Insert(Entity("r", ("A", Of(1)))));
        Assert.Equal((204, inserted.Etag), (inserted.HttpStatusCode, (await Read("r")).ETag));
        await Legacy.Refused(409, "EntityAlreadyExists", () => table.ExecuteAsync(TableOperation.Insert(Entity("r"))));
        await table.ExecuteAsync(TableOperation.Merge(Entity("r", ("B", Of(2))).WithTag(inserted.Etag)));
        Assert.Equal(["A", "B"], (await Read("r")).Properties.Keys.Order());
        await Legacy.Refused(412, "UpdateConditionNotSatisfied", () => table.ExecuteAsync(TableOperation.Replace(Entity("r").WithTag(inserted.Etag))));
        await table.ExecuteAsync(TableOperation.Replace(Entity("r", ("C", Of(3))).WithTag("*")));
        Assert.Equal(["C"], (await Read("r")).Properties.Keys);
        await table.ExecuteAsync(TableOperation.InsertOrMerge(Entity("r", ("D", Of(4)))));
        Assert.Equal(["C", "D"], (await Read("r")).Properties.Keys.Order());
        await table.ExecuteAsync(TableOperation.InsertOrReplace(Entity("r", ("E", Of(5)))));
        Assert.Equal(["E"], (await Read("r")).Properties.Keys);
        await Legacy.Refused(412, "UpdateConditionNotSatisfied", () => table.ExecuteAsync(TableOperation.Delete(Entity("r").WithTag(inserted.Etag))));
        await table.ExecuteAsync(TableOperation.Delete(Entity("r").WithTag("*")));
        var gone = await table.ExecuteAsync(TableOperation.Retrieve(partition, "r"));
        Assert.Equal((404, null), (gone.HttpStatusCode, gone.Result));
        await Legacy.Refused(404, "ResourceNotFound", () => table.ExecuteAsync(TableOperation.Delete(Entity("r").WithTag("*"))));
    }

    [Fact]
    public async Task Insert_that_echoes()
    {
        var echoed = await table.ExecuteAsync(TableOperation.Insert(Entity("r", ("A", Of(1))), echoContent: true));
        Assert.Equal(201, echoed.HttpStatusCode);
        Assert.InRange(((ITableEntity)echoed.Result).Timestamp, DateTimeOffset.UtcNow.AddMinutes(-5), DateTimeOffset.UtcNow.AddMinutes(5));
    }

    [Fact]
    public async Task A_batch_of_every_operation()
    {
        foreach (var row in new[] { "1", "2", "3" }) await table.ExecuteAsync(TableOperation.Insert(Entity(row, ("A", Of(1)))));
        var batch = new TableBatchOperation
        {
            TableOperation.Insert(Entity("4", ("A", Of(1)))), TableOperation.Insert(Entity("5", ("A", Of(1))), echoContent: true),
            TableOperation.Merge(Entity("1", ("B", Of(2))).WithTag("*")), TableOperation.Replace(Entity("2", ("C", Of(3))).WithTag("*")),
            TableOperation.Delete(Entity("3").WithTag("*")), TableOperation.InsertOrMerge(Entity("6", ("D", Of(4)))), TableOperation.InsertOrReplace(Entity("7", ("E", Of(5)))),
        };
        var results = await table.ExecuteBatchAsync(batch);
        Assert.Equal([204, 201, 204, 204, 204, 204, 204], results.Select(result => result.HttpStatusCode));
        var found = await Query(Mine());
        Assert.Equal("1AB 2C 4A 5A 6D 7E", string.Join(" ", found.Select(e => e.RowKey + string.Concat(e.Properties.Keys.Order()))));
        // The ETags of the answers are those of the entities.
        Assert.Equal(found.Single(e => e.RowKey == "4").ETag, results[0].Etag);
        Assert.Equal(found.Single(e => e.RowKey == "7").ETag, results[6].Etag);
    }

    [Fact]
    public async Task A_batch_with_one_query()
    {
        await table.ExecuteAsync(TableOperation.Insert(Entity("1", ("A", Of(1)))));
        var results = await table.ExecuteBatchAsync(new TableBatchOperation { TableOperation.Retrieve(partition, "1") });
        Assert.Equal(1, ((DynamicTableEntity)Assert.Single(results).Result).Properties["A"].Int32Value);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(99)]
    public async Task A_batch_fails_as_a_whole_and_names_its_index(int index)
    {
        await table.ExecuteAsync(TableOperation.Insert(Entity("exists")));
        var batch = new TableBatchOperation();
        for (var i = 0; i < 100; i++) batch.Insert(i == index ? Entity("exists") : Entity(i.ToString("D3", CultureInfo.InvariantCulture)));
        var error = await Legacy.Refused(409, "EntityAlreadyExists", () => table.ExecuteBatchAsync(batch));
        Assert.StartsWith($"{index}:", error.RequestInformation.ExtendedErrorInformation.ErrorMessage, StringComparison.Ordinal);
        Assert.Equal("exists", Assert.Single(await Query(Mine())).RowKey);
    }

    [Fact]
    public async Task A_batch_with_a_stale_ETag()
    {
        var old = (await table.ExecuteAsync(TableOperation.Insert(Entity("1")))).Etag;
        await table.ExecuteAsync(TableOperation.InsertOrReplace(Entity("1", ("A", Of(1)))));
        await Legacy.Refused(412, "UpdateConditionNotSatisfied", () => table.ExecuteBatchAsync(new TableBatchOperation
        {
            TableOperation.Insert(Entity("2")), TableOperation.Replace(Entity("1").WithTag(old)),
        }));
        Assert.Equal("1", Assert.Single(await Query(Mine())).RowKey);
    }

    [Fact]
    public async Task A_batch_that_deletes_a_missing_entity() =>
        await Legacy.Refused(404, "ResourceNotFound", () => table.ExecuteBatchAsync(new TableBatchOperation
        {
            TableOperation.Insert(Entity("1")), TableOperation.Delete(Entity("missing").WithTag("*")),
        }));

    [Fact]
    public async Task A_batch_of_large_entities()
    {
        var batch = new TableBatchOperation();
        for (var i = 0; i < 40; i++) batch.Insert(Entity($"{i:D2}", ("B", new EntityProperty(Stores.Bytes(60_000, i)))));
        await table.ExecuteBatchAsync(batch);
        var found = await Query(Mine());
        Assert.Equal(40, found.Count);
        Assert.Equal(Stores.Bytes(60_000, 39), found[39].Properties["B"].BinaryValue);
    }

    async Task Samples()
    {
        var batch = new TableBatchOperation();
        for (var i = 0; i < 10; i++)
        {
            batch.Insert(Entity($"{i}", ("I", Of(i)), ("L", new EntityProperty(i * 10_000_000_000L)), ("D", new EntityProperty(i / 2.0)), ("O", new EntityProperty(i % 2 == 0)),
                ("T", new EntityProperty(new DateTimeOffset(2024, 1, 1, i, 0, 0, TimeSpan.Zero))), ("G", new EntityProperty(new Guid(i, 0, 0, new byte[8]))),
                ("B", new EntityProperty(new byte[] { (byte)(i * 20), 255 })), ("S", Of(i == 5 ? "it's" : $"s{i}"))));
        }
        await table.ExecuteBatchAsync(batch);
    }

    [Fact]
    public async Task Filters_of_every_type()
    {
        await Samples();
        await Finds("8 9", TableQuery.GenerateFilterConditionForInt("I", QueryComparisons.GreaterThan, 7));
        await Finds("0 1", TableQuery.GenerateFilterConditionForLong("L", QueryComparisons.LessThanOrEqual, 10_000_000_000));
        await Finds("6", TableQuery.GenerateFilterConditionForDouble("D", QueryComparisons.Equal, 3));
        await Finds("5", TableQuery.GenerateFilterConditionForDouble("D", QueryComparisons.Equal, 2.5));
        await Finds("1 3 5 7 9", TableQuery.GenerateFilterConditionForBool("O", QueryComparisons.NotEqual, true));
        await Finds("9", TableQuery.GenerateFilterConditionForDate("T", QueryComparisons.GreaterThanOrEqual, new DateTimeOffset(2024, 1, 1, 10, 0, 0, TimeSpan.FromHours(1))));
        await Finds("4", TableQuery.GenerateFilterConditionForGuid("G", QueryComparisons.Equal, new Guid(4, 0, 0, new byte[8])));
        await Finds("7", TableQuery.GenerateFilterConditionForBinary("B", QueryComparisons.Equal, [140, 255]));
        await Finds("5", TableQuery.GenerateFilterCondition("S", QueryComparisons.Equal, "it's"));
        await Finds("0 9", TableQuery.CombineFilters(TableQuery.GenerateFilterConditionForInt("I", QueryComparisons.Equal, 0), TableOperators.Or, TableQuery.GenerateFilterConditionForInt("I", QueryComparisons.Equal, 9)));
        await Finds("", TableQuery.GenerateFilterConditionForInt("Nobody", QueryComparisons.Equal, 1));
    }

    [Fact]
    public async Task A_projection()
    {
        await Samples();
        var found = Assert.Single(await Query(Mine("RowKey eq '3'"), null, null, "I", "S"));
        Assert.Equal(["I", "S"], found.Properties.Keys.Order());
        Assert.Equal((partition, "3"), (found.PartitionKey, found.RowKey));
        var point = (DynamicTableEntity)(await table.ExecuteAsync(TableOperation.Retrieve(partition, "3", ["S"]))).Result;
        Assert.Equal("S", Assert.Single(point.Properties.Keys));
    }

    [Fact]
    public async Task A_projection_of_system_properties_does_not_return_the_others()
    {
        await Samples();
        var options = new TableRequestOptions { ProjectSystemProperties = false };
        var found = Assert.Single(await Query(Mine("RowKey eq '3'"), options, null, "S"));
        Assert.Equal("s3", found.Properties["S"].StringValue);
    }

    [Fact]
    public async Task Segments_of_three()
    {
        await Samples();
        var sizes = new List<int>();
        TableContinuationToken? token = null;
        do
        {
            var segment = await table.ExecuteQuerySegmentedAsync(new TableQuery { FilterString = Mine(), TakeCount = 3 }, token);
            sizes.Add(segment.Results.Count);
            token = segment.ContinuationToken;
        } while (token is not null);
        Assert.Equal([3, 3, 3, 1], sizes);
    }

    [Theory]
    [InlineData("it's")]
    [InlineData("\u00fc 100%")]
    [InlineData("a+b=c&d")]
    [InlineData("(x),RowKey='y'")]
    [InlineData("%27")]
    [InlineData("\u65e5\u672c")]
    [InlineData("")]
    public async Task An_odd_key(string odd)
    {
        await table.ExecuteAsync(TableOperation.Insert(Entity(odd, ("A", Of(1)))));
        await table.ExecuteAsync(TableOperation.Merge(Entity(odd, ("B", Of(2))).WithTag("*")));
        await table.ExecuteBatchAsync(new TableBatchOperation { TableOperation.InsertOrMerge(Entity(odd, ("C", Of(3)))) });
        Assert.Equal(["A", "B", "C"], (await Read(odd)).Properties.Keys.Order());
        Assert.Single(await Query(Mine(TableQuery.GenerateFilterCondition("RowKey", QueryComparisons.Equal, odd))));
        await table.ExecuteAsync(TableOperation.Delete(Entity(odd).WithTag("*")));
    }

    [Fact]
    public async Task An_empty_partition_key()
    {
        await table.ExecuteAsync(TableOperation.InsertOrReplace(new DynamicTableEntity("", partition)));
        var found = await Query($"PartitionKey eq '' and RowKey eq '{partition}'");
        await table.ExecuteBatchAsync(new TableBatchOperation { TableOperation.Replace(Assert.Single(found)) });
        await table.ExecuteAsync(TableOperation.Delete(new DynamicTableEntity("", partition) { ETag = "*" }));
    }

    [Fact]
    public async Task Refusals_of_values()
    {
        await Legacy.Refused(400, "PropertyValueTooLarge", () => table.ExecuteAsync(TableOperation.Insert(Entity("r", ("S", Of(new string('x', 32 * 1024 + 1)))))));
        await Legacy.Refused(400, "OutOfRangeInput", () => table.ExecuteAsync(TableOperation.Insert(Entity("r", ("T", new EntityProperty(new DateTimeOffset(1600, 1, 1, 0, 0, 0, TimeSpan.Zero)))))));
        await Legacy.Refused(400, "PropertyNameInvalid", () => table.ExecuteAsync(TableOperation.Insert(Entity("r", ("a-b", Of(1))))));
        await Legacy.Refused(400, "InvalidInput", () => Query("I eq 'unclosed"));
    }

    [Fact]
    public async Task Tables_are_created_listed_and_deleted()
    {
        var client = Legacy.Account.CreateCloudTableClient();
        var prefix = Stores.FreshName("l");
        foreach (var i in Enumerable.Range(0, 3)) Assert.True(await client.GetTableReference($"{prefix}{i}").CreateIfNotExistsAsync());
        Assert.False(await client.GetTableReference($"{prefix}0").CreateIfNotExistsAsync());
        await Legacy.Refused(409, "TableAlreadyExists", () => client.GetTableReference($"{prefix}0").CreateAsync());
        Assert.Equal(Enumerable.Range(0, 3).Select(i => $"{prefix}{i}"), (await client.ListTablesSegmentedAsync(prefix, null)).Results.Select(each => each.Name));
        Assert.True(await client.GetTableReference($"{prefix}0").ExistsAsync());
        foreach (var i in Enumerable.Range(0, 3)) Assert.True(await client.GetTableReference($"{prefix}{i}").DeleteIfExistsAsync());
        Assert.False(await client.GetTableReference($"{prefix}0").ExistsAsync());
        Assert.False(await client.GetTableReference($"{prefix}0").DeleteIfExistsAsync());
        await Legacy.Refused(404, "TableNotFound", () => client.GetTableReference($"{prefix}0").ExecuteAsync(TableOperation.Insert(Entity("r"))));
    }

    [Fact]
    public async Task Signatures_and_policies()
    {
        var client = Legacy.Account.CreateCloudTableClient();
        var own = client.GetTableReference(Stores.FreshName());
        await own.CreateAsync();
        var policy = new SharedAccessTablePolicy { Permissions = SharedAccessTablePermissions.Query | SharedAccessTablePermissions.Add, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1) };
        CloudTable By(string sas) => new(own.Uri, new StorageCredentials(sas));
        var adder = By(own.GetSharedAccessSignature(policy));
        await adder.ExecuteAsync(TableOperation.Insert(Entity("1")));
        await adder.ExecuteBatchAsync(new TableBatchOperation { TableOperation.Insert(Entity("2")) });
        Assert.Equal(2, (await adder.ExecuteQuerySegmentedAsync(new TableQuery(), null)).Results.Count);
        await Legacy.Refused(403, "AuthorizationPermissionMismatch", () => adder.ExecuteAsync(TableOperation.Delete(Entity("1").WithTag("*"))));

        var permissions = new TablePermissions();
        permissions.SharedAccessPolicies.Add("readers", new SharedAccessTablePolicy { Permissions = SharedAccessTablePermissions.Query, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1) });
        await own.SetPermissionsAsync(permissions);
        Assert.Equal(SharedAccessTablePermissions.Query, (await own.GetPermissionsAsync()).SharedAccessPolicies["readers"].Permissions);
        var ranged = By(own.GetSharedAccessSignature(new SharedAccessTablePolicy(), "readers", partition, "2", partition, "9"));
        Assert.Equal("2", Assert.Single((await ranged.ExecuteQuerySegmentedAsync(new TableQuery(), null)).Results).RowKey);
        await own.DeleteAsync();
    }

    [Fact]
    public async Task Properties_and_statistics_of_the_service()
    {
        var client = Legacy.Account.CreateCloudTableClient();
        var properties = await client.GetServicePropertiesAsync();
        properties.Cors.CorsRules.Clear();
        properties.Cors.CorsRules.Add(new CorsRule { AllowedOrigins = ["https://a.example"], AllowedMethods = CorsHttpMethods.Get, AllowedHeaders = ["*"], ExposedHeaders = ["*"], MaxAgeInSeconds = 5 });
        await client.SetServicePropertiesAsync(properties);
        Assert.Equal("https://a.example", Assert.Single((await client.GetServicePropertiesAsync()).Cors.CorsRules).AllowedOrigins[0]);
        properties.Cors.CorsRules.Clear();
        await client.SetServicePropertiesAsync(properties);
        client.DefaultRequestOptions.LocationMode = LocationMode.SecondaryOnly;
        Assert.Equal(GeoReplicationStatus.Live, (await client.GetServiceStatsAsync()).GeoReplication.Status);
    }

    [Fact]
    public async Task The_secondary_is_read()
    {
        await table.ExecuteAsync(TableOperation.Insert(Entity("r", ("A", Of(1)))));
        var options = new TableRequestOptions { LocationMode = LocationMode.SecondaryOnly };
        var read = await table.ExecuteAsync(TableOperation.Retrieve(partition, "r"), options, null);
        Assert.Equal(1, ((DynamicTableEntity)read.Result).Properties["A"].Int32Value);
        Assert.Single(await Query(Mine(), options));
    }
}

static class Tagged
{
    public static DynamicTableEntity WithTag(this DynamicTableEntity entity, string etag)
    {
        entity.ETag = etag;
        return entity;
    }
}
